import { randomBytes } from 'node:crypto'
import type { Sql } from './sql.ts'

const SECRET_BYTES = 32
const SELECT = 'SELECT "value" FROM "Secret" WHERE "name" = ?'
const INSERT = 'INSERT INTO "Secret" ("name", "value") VALUES (?, ?) ON CONFLICT DO NOTHING'

/**
 * Reads a secret of the database, 32 random bytes, which is made at its first use. Servers that make it at the same
 * time all get the one that was stored first.
 */
export async function readSecret(sql: Sql, name: string): Promise<Buffer> {
  const known = await selectSecret(sql, name)
  if (known) return known
  await sql.execute(INSERT, name, randomBytes(SECRET_BYTES).toString('hex'))
  const stored = await selectSecret(sql, name)
  if (!stored) throw new Error(`The secret ${name} was deleted while it was made`)
  return stored
}

async function selectSecret(sql: Sql, name: string): Promise<Buffer | undefined> {
  const [row] = await sql.query<[string]>(SELECT, name)
  return row && Buffer.from(row[0], 'hex')
}

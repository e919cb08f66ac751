import { randomBytes } from 'node:crypto'
import type { Sql } from './sql.ts'

const SECRET_BYTES = 32
const SELECT = 'SELECT "value" FROM "Secret" WHERE "name" = ?'
const INSERT = 'INSERT INTO "Secret" ("name", "value") VALUES (?, ?) ON CONFLICT DO NOTHING'

/** Reads a secret, creating it at its first use. Servers that create it at the same time all get the one stored first. */
export async function readSecret(sql: Sql, name: string): Promise<Buffer> {
  const existing = await selectSecret(sql, name)
  if (existing) return existing
  await sql.execute(INSERT, name, randomBytes(SECRET_BYTES).toString('hex'))
  const stored = await selectSecret(sql, name)
  if (!stored) throw new Error(`The secret ${name} was deleted while it was being created`)
  return stored
}

async function selectSecret(sql: Sql, name: string): Promise<Buffer | undefined> {
  const [row] = await sql.query<[string]>(SELECT, name)
  return row && Buffer.from(row[0], 'hex')
}

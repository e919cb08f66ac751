import { randomBytes } from 'node:crypto'
import type { Dialect, Sql } from './sql.ts'

const SECRET_BYTES = 32

/** Reads a secret, creating it at its first use. Servers that create it at the same time all get the one stored first. */
export async function readSecret(sql: Sql, { durably }: Dialect, name: string): Promise<Buffer> {
  const select = 'SELECT "value" FROM "Secret" WHERE "name" = $1'
  const [existing] = await sql.query<[string]>(select, name)
  if (existing) return Buffer.from(existing[0], 'hex')
  const insert = `INSERT INTO "Secret" ("name", "value") SELECT $1, $2 WHERE ${durably} ON CONFLICT DO NOTHING`
  await sql.execute(insert, name, randomBytes(SECRET_BYTES).toString('hex'))
  const [stored] = await sql.query<[string]>(select, name)
  if (!stored)
    throw new Error(`The secret "${name}" was stored and is not there: check what else writes to the database`)
  return Buffer.from(stored[0], 'hex')
}

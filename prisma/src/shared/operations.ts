import { randomBytes } from 'node:crypto'
import type { Database, Retry } from '../database.ts'
import { createPlants } from './plants.ts'
import type { Access, Sql } from './sql.ts'
import { createTokens } from './tokens.ts'

const SECRET_BYTES = 32

/** Creates what both engines do alike. */
export function createOperations(unretried: Access): Pick<Database, 'plants' | 'tokens' | 'secret' | 'isEmpty'> {
  const access = { ...unretried, sql: withRetry(unretried.sql, unretried.retry) }
  return {
    plants: createPlants(access),
    tokens: createTokens(access),
    secret: (name) => readSecret(access, name),

    async isEmpty() {
      const selectAny = 'SELECT 1 FROM "Token" UNION ALL SELECT 1 FROM "Plant" LIMIT 1'
      return (await access.sql.query(selectAny)).length === 0
    },
  }
}

/** Makes SQL whose statements are retried: every one of {@link createOperations} may run twice. */
function withRetry(sql: Sql, retry: Retry): Sql {
  return {
    query: (statement, ...values) => retry(() => sql.query(statement, ...values)),
    execute: (statement, ...values) => retry(() => sql.execute(statement, ...values)),
  }
}

/** Reads a secret, creating it at its first use. Servers that create it at the same time all get the one stored first. */
async function readSecret({ sql, dialect }: Access, name: string): Promise<Buffer> {
  const select = () => sql.query<[hex: string]>('SELECT "value" FROM "Secret" WHERE "name" = $1', name)
  const insert = `INSERT INTO "Secret" ("name", "value") SELECT $1, $2 WHERE ${dialect.durably} ON CONFLICT DO NOTHING`
  let [stored] = await select()
  if (!stored) {
    await sql.execute(insert, name, randomBytes(SECRET_BYTES).toString('hex'))
    stored = (await select())[0]
  }
  if (stored) return Buffer.from(stored[0], 'hex')
  throw new Error(`The secret "${name}" was stored and is not there: check what else writes to the database`)
}

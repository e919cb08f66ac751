import { randomBytes } from 'node:crypto'
import type { Database } from '../database.ts'
import { createPlants } from './plants.ts'
import type { Access } from './sql.ts'
import { createTokens } from './tokens.ts'

const SECRET_BYTES = 32

/** Creates what both engines do alike. */
export function createOperations(access: Access): Pick<Database, 'plants' | 'tokens' | 'secret' | 'isEmpty'> {
  const { sql, retry } = access
  return {
    plants: createPlants(access),
    tokens: createTokens(access),
    secret: (name) => retry(() => readSecret(access, name)),

    async isEmpty() {
      const selectAny = 'SELECT 1 FROM "Token" UNION ALL SELECT 1 FROM "Plant" LIMIT 1'
      return (await retry(() => sql.query(selectAny))).length === 0
    },
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

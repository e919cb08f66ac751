import { randomBytes } from 'node:crypto'
import type { Database } from '../database.ts'
import { createPlants } from './plants.ts'
import type { Access, PlantStatements } from './sql.ts'
import { createTokens } from './tokens.ts'

const SECRET_BYTES = 32

/** Creates what both engines do alike. */
export function createOperations(
  statements: PlantStatements,
  access: Access,
): Pick<Database, 'plants' | 'tokens' | 'secret' | 'isEmpty'> {
  const { sql, retry } = access
  return {
    plants: createPlants(statements, access),
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
  const select = 'SELECT "value" FROM "Secret" WHERE "name" = $1'
  const [existing] = await sql.query<[string]>(select, name)
  if (existing) return Buffer.from(existing[0], 'hex')
  const insert = `INSERT INTO "Secret" ("name", "value") SELECT $1, $2 WHERE ${dialect.durably} ON CONFLICT DO NOTHING`
  await sql.execute(insert, name, randomBytes(SECRET_BYTES).toString('hex'))
  const [stored] = await sql.query<[string]>(select, name)
  if (!stored)
    throw new Error(`The secret "${name}" was stored and is not there: check what else writes to the database`)
  return Buffer.from(stored[0], 'hex')
}

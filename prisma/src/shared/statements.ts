import type { PlantStatements } from './plants.ts'
import type { Dialect } from './sql.ts'

/** Writes the statements that both engines have alike. An engine that needs another one assigns it after these. */
export function writeStatements({
  durably,
  elements,
  now,
}: Dialect): Pick<PlantStatements, 'insertOne' | 'insertMany'> {
  const insert = 'INSERT INTO "Plant" ("account", "id", "name", "tag", "createdAt")'
  const unlessStored = 'ON CONFLICT ("account", "id") DO NOTHING'
  return {
    insertOne: `${insert} SELECT $1, $2, $3, $4, ${now} WHERE ${durably} ${unlessStored}`,
    // 500 rows as 2,000 parameters take five times as long.
    insertMany: `${insert}
      SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, ${now} FROM ${elements}
      WHERE ${durably} ORDER BY key ${unlessStored}`,
  }
}

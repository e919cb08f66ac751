import { existsSync } from 'node:fs'
import { DatabaseError } from '../../src/database-error.ts'
import { databaseFile } from '../../src/sqlite/connection/database-file.ts'

/** Rejects a missing file: Studio would create an empty one and show no tables. */
export async function prepareStudio(url: string): Promise<string> {
  const file = databaseFile(url)
  if (existsSync(file)) return url
  throw new DatabaseError(
    `${file} does not exist yet: start the server once, or run \`npm run prisma -- migrate deploy\`.`,
  )
}

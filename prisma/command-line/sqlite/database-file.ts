import { closeSync, existsSync, mkdirSync, openSync } from 'node:fs'
import path from 'node:path'
import { databaseFile } from '../../src/sqlite/connection/database-file.ts'
import { PrismaError } from '../prisma-error.ts'

/** Rejects a missing file, which SQLite would create. */
export async function canConnect(url: string): Promise<void> {
  const file = databaseFile(url)
  if (existsSync(file)) return
  throw new PrismaError('P1003', `Database \`${path.basename(file)}\` does not exist at ${file}`)
}

/** Creates an empty file, which is an empty SQLite database. As in the server, only the owner may read it. */
export async function createDatabase(url: string): Promise<void> {
  const file = databaseFile(url)
  mkdirSync(path.dirname(file), { recursive: true })
  closeSync(openSync(file, 'wx', 0o600))
}

import { closeSync, existsSync, mkdirSync, openSync } from 'node:fs'
import path from 'node:path'
import { databaseFile } from '../src/sqlite/database-file.ts'

/** Reports a missing database to the Prisma command line, with the exit code and the engine's error for it. */
export function canConnectToDatabase(url: string | undefined): void {
  const file = databaseFile(url ?? '')
  if (existsSync(file)) return
  reportError('P1003', `Database \`${path.basename(file)}\` does not exist at ${file}`)
}

/** Creates an empty file, which is an empty SQLite database. As in the server, only the owner may read it. */
export function createDatabase(url: string | undefined): void {
  const file = databaseFile(url ?? '')
  mkdirSync(path.dirname(file), { recursive: true })
  closeSync(openSync(file, 'wx', 0o600))
}

/** Writes an error as the engine does. The command line skips the first line and reads the others as a log. */
function reportError(code: string, message: string): void {
  const line = { level: 'ERROR', target: 'schema_engine::logger', fields: { error_code: code, message } }
  process.stderr.write(`schema engine\n${JSON.stringify(line)}\n`)
  process.exitCode = 1
}

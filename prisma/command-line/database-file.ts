import { closeSync, existsSync, mkdirSync, openSync } from 'node:fs'
import path from 'node:path'
import { databaseFile } from '../src/database-url.ts'

/** Answers the Prisma command line through the exit code and, where there is no database, an error of the engine's. */
export function canConnectToDatabase(url: string | undefined): void {
  const file = databaseFile(url ?? '')
  if (existsSync(file)) return
  reportError('P1003', `Database \`${path.basename(file)}\` does not exist at ${file}`)
}

/** An empty file is an empty SQLite database. As in the server, only its owner may read it. */
export function createDatabase(url: string | undefined): void {
  const file = databaseFile(url ?? '')
  mkdirSync(path.dirname(file), { recursive: true })
  closeSync(openSync(file, 'wx', 0o600))
}

/** The command line skips the first line of standard error and reads the others as the engine's log. */
function reportError(code: string, message: string): void {
  const line = { level: 'ERROR', target: 'schema_engine::logger', fields: { error_code: code, message } }
  process.stderr.write(`schema engine\n${JSON.stringify(line)}\n`)
  process.exitCode = 1
}

import path from 'node:path'
import { baseFolder } from './base-folder.ts'
import { readTlsOptions } from './postgresql/connection/credentials.ts'
import {
  describeDatabase,
  ignoredParameters,
  isPostgresqlUrl,
  readServerAddress,
} from './postgresql/connection/server-address.ts'
import { DEFAULT_DATABASE_URL, databaseFile } from './sqlite/connection/database-file.ts'

/**
 * Checks a DATABASE_URL and returns it in the one form that the Prisma command line, Prisma Studio and this package all
 * support: `file:///absolute/path` for SQLite; that of PostgreSQL as it is.
 *
 * @throws {DatabaseError} whose message does not contain the URL, which may have a password; if a file that it names cannot
 *   be read
 */
export function databaseUrl(value: string = DEFAULT_DATABASE_URL, root: string = baseFolder): string {
  if (isPostgresqlUrl(value)) {
    readTlsOptions(readServerAddress(value))
    return value
  }
  const file = databaseFile(value, root).split(path.sep).join('/')
  return file.startsWith('/') ? `file://${file}` : `file:///${file}`
}

/** Explains which parameters of a DATABASE_URL that `databaseUrl` has checked change nothing; undefined: all do. */
export function explainIgnored(url: string): string | undefined {
  const names = ignoredParameters(url)
  return names.length > 0
    ? `DATABASE_URL has parameters that change nothing here: remove ${names.join(', ')}`
    : undefined
}

/** Names the engine and the database of a DATABASE_URL that `databaseUrl` has checked, without user and password. */
export function nameDatabase(url: string): string {
  if (!isPostgresqlUrl(url)) return `sqlite ${databaseFile(url)}`
  return describeDatabase(readServerAddress(url)).replace(/^the/, 'postgresql')
}

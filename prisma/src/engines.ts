import path from 'node:path'
import { baseFolder } from './base-folder.ts'
import type { BackupOptions, Database, MigrateOptions, OpenOptions } from './database.ts'
import { readTlsOptions } from './postgresql/connection/credentials.ts'
import {
  describeDatabase,
  ignoredParameters,
  isPostgresqlUrl,
  readServerAddress,
} from './postgresql/connection/server-address.ts'
import type { CopyConnection, CopyRole } from './shared/copy-tables.ts'
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
  const names = ignoredParameters(url).join(', ')
  return names === '' ? undefined : `DATABASE_URL has parameters that change nothing here: remove ${names}`
}

/** Names the engine and the database of a DATABASE_URL that `databaseUrl` has checked, without user and password. */
export function nameDatabase(url: string): string {
  if (!isPostgresqlUrl(url)) return `sqlite ${databaseFile(url)}`
  return describeDatabase(readServerAddress(url)).replace(/^the/, 'postgresql')
}

/** Loads an engine once a DATABASE_URL names it. */
function load(url: string) {
  return isPostgresqlUrl(url) ? import('./postgresql/index.ts') : import('./sqlite/index.ts')
}

/**
 * Opens a database that `migrateDatabase` has created.
 *
 * @param url a DATABASE_URL, see `databaseUrl`
 * @throws {DatabaseError} if it does not exist, cannot be used, or does not keep what the plant store promises; the
 *   signal's reason
 */
export async function openDatabase(url: string, options?: OpenOptions): Promise<Database> {
  return (await load(url)).openDatabase(url, options)
}

/**
 * Migrates a database to the newest schema, and creates it if it does not exist, a SQLite file in a folder that does. All or
 * nothing: if a migration fails, none is applied, and a new database stays empty. Processes that migrate the same database
 * at the same time wait for each other. With nothing pending it takes a few milliseconds.
 *
 * @param url a DATABASE_URL, see `databaseUrl`
 * @param folder where the migrations are; default: those of the plant store
 * @returns the names of the migrations that were applied
 * @throws {DatabaseError} if the database was written by a newer version, is another program's, or cannot be used; the
 *   signal's reason
 */
export async function migrateDatabase(
  url: string,
  folder?: string,
  options?: MigrateOptions,
): Promise<{ applied: string[] }> {
  return (await load(url)).migrateDatabase(url, folder, options)
}

/**
 * Checks that a database exists and has the newest schema, and changes nothing.
 *
 * @param url a DATABASE_URL, see `databaseUrl`
 * @param folder where the migrations are; default: those of the plant store
 * @throws {DatabaseError} if it does not exist, needs a migration, or cannot be used
 */
export async function checkMigrated(url: string, folder?: string): Promise<void> {
  return (await load(url)).checkMigrated(url, folder)
}

/**
 * Copies a SQLite database to a new file, as it is at one moment, even while others write to it. The copy is checked and on
 * disk before it gets its name, and only its owner may read it. The event loop stays free. The time of the last backup is
 * part of the database's state.
 *
 * @param url a DATABASE_URL, see `databaseUrl`
 * @param copy the path of the new file
 * @returns whether the time could be recorded, for which this user must be allowed to write to the database's folder
 * @throws {DatabaseError} if `copy` exists, its folder does not, or the database needs that file, one of the two files
 *   cannot be used, or the engine is another; the signal's reason
 */
export async function backupDatabase(
  url: string,
  copy: string,
  options?: BackupOptions,
): Promise<{ recorded: boolean }> {
  return (await load(url)).backupDatabase(url, copy, options)
}

/**
 * Turns an error of Prisma or the engine into a DatabaseError, and returns any other error as it is.
 *
 * @param url the DATABASE_URL of the open database
 */
export async function explainDatabaseError(error: unknown, url: string): Promise<unknown> {
  return (await load(url)).explainDatabaseError(error, url)
}

/**
 * Opens one of the two databases of a copy, which exists and is migrated.
 *
 * @param url a DATABASE_URL, see `databaseUrl`
 * @throws the engine's error, see `explainDatabaseError`; the signal's reason
 */
export async function openCopyConnection(url: string, role: CopyRole, signal?: AbortSignal): Promise<CopyConnection> {
  return (await load(url)).openCopyConnection(url, role, signal)
}

import { pathToFileURL } from 'node:url'
import {
  isDriverAdapterError,
  type SqlMigrationAwareDriverAdapterFactory,
  type SqlResultSet,
} from '@prisma/driver-adapter-utils'
import { databaseFile, databaseUrl, isPostgresqlUrl } from '../src/address.ts'
import { readAddress } from '../src/postgresql/address.ts'

/** A database as the schema engine sees it, with what its WebAssembly build does not do itself. */
export interface SchemaEngineDatabase extends SqlMigrationAwareDriverAdapterFactory {
  /** Why the engine's method in progress fails, where the engine's own error hides it. */
  reason: unknown
  close(): Promise<void>
}

/** Creates an error that the Prisma command line prints with its code, such as P1003. */
export function prismaError(code: string, message: string, cause?: unknown): Error {
  return Object.assign(new Error(message, { cause }), { code })
}

/** Returns no rows where the table of applied migrations is missing, on which the engine fails; throws other errors. */
export function noMigrationsYet(error: unknown): SqlResultSet {
  const { cause } = isDriverAdapterError(error) ? error : { cause: undefined }
  const missing = cause?.kind === 'TableDoesNotExist' ? cause.table : cause?.originalMessage
  if (!/\b_prisma_migrations$/.test(missing ?? '')) throw error
  return { columnNames: [], columnTypes: [], rows: [] }
}

/**
 * Returns a DATABASE_URL as the Prisma command line shows it, with host, port and database alone: it is an argument of the
 * schema engine, which every user of the machine can read. The engine takes the rest from the environment.
 */
export function argumentUrl(value: string | undefined): string {
  if (value === undefined || !isPostgresqlUrl(value)) return pathToFileURL(databaseFile(databaseUrl(value))).href
  const { host, port, database } = readAddress(value).config
  const name = host.startsWith('/') ? 'localhost' : host.includes(':') ? `[${host}]` : host
  return `postgresql://${name}:${port}/${encodeURIComponent(database)}`
}

import { isDriverAdapterError, type SqlResultSet } from '@prisma/driver-adapter-utils'

/** Returns no rows where the table of applied migrations is missing, on which the engine fails; throws other errors. */
export function noMigrationsYet(error: unknown): SqlResultSet {
  const missing =
    isDriverAdapterError(error) && error.cause.kind === 'TableDoesNotExist' ? error.cause.table : undefined
  if (missing !== '_prisma_migrations') throw error
  return { columnNames: [], columnTypes: [], rows: [] }
}

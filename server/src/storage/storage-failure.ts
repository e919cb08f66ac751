import { Failure } from '../failure.ts'

/** SQLite's codes for a lock that another connection holds. */
const BUSY = /^SQLITE_(BUSY|LOCKED)/
/** SQLite's codes for a disk that is full, read-only or gone: the cause may go away without a restart. */
const UNWRITABLE = /^SQLITE_(FULL|IOERR|READONLY|CANTOPEN)/

/** Whether the database was locked by somebody else, so that trying again may help. */
export function isBusy(error: unknown): boolean {
  return BUSY.test(sqliteCode(error))
}

/** The failure that an error of the database is answered with, or nothing where it is none that waiting may mend. */
export function toStorageFailure(error: unknown): Failure | undefined {
  const code = sqliteCode(error)
  if (BUSY.test(code)) return unavailable('The database is busy. Send the request again.', 1, error)
  if (UNWRITABLE.test(code)) return unavailable('The database cannot be used now. Send the request again.', 5, error)
  return undefined
}

function unavailable(message: string, retryAfter: number, cause: unknown): Failure {
  return new Failure('unavailable', message, { headers: { 'Retry-After': String(retryAfter) }, cause })
}

/**
 * SQLite's own code, such as `SQLITE_BUSY`; empty where there is none. Prisma's codes do not do: a locked database is
 * P1008 from a model's method and P2010 from raw SQL, which every failure of raw SQL is (measured with Prisma 7.10).
 */
function sqliteCode(error: unknown): string {
  const { meta, cause } = (error ?? {}) as ErrorOfPrisma
  return String((meta?.driverAdapterError?.cause ?? cause)?.originalCode ?? '')
}

interface ErrorOfPrisma {
  meta?: { driverAdapterError?: { cause?: { originalCode?: unknown } } }
  /** Where a COMMIT fails, Prisma passes on the error of the driver adapter as it is. */
  cause?: { originalCode?: unknown }
}

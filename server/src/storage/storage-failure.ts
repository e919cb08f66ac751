import { Failure } from '../http/failure.ts'

/** Prisma's code for every SQLITE_BUSY: another process holds the lock (measured with Prisma 7.10). */
const BUSY = 'P1008'

/** Whether the database was locked by somebody else, so that trying again may help. */
export function isBusy(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === BUSY
}

/** The failure that an error of the database is answered with, or nothing where it is none that waiting may mend. */
export function toStorageFailure(error: unknown): Failure | undefined {
  if (!isBusy(error)) return undefined
  return new Failure('unavailable', 'The database is busy. Send the request again.', {
    headers: { 'Retry-After': '1' },
    cause: error,
  })
}

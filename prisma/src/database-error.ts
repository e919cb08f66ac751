import type { StorageFault, TemporaryFailure } from './database.ts'

/**
 * The database cannot be used as it is. The message is one sentence for the operator: which file, and what to do.
 * Nothing on disk has changed when it is thrown, except that a copy may have begun.
 */
export class DatabaseError extends Error {
  override readonly name = 'DatabaseError'
}

/** What a client is told, for all engines: `busy` goes away by itself within a moment. */
export function temporaryFailure(fault: StorageFault, state: 'busy' | 'unavailable'): TemporaryFailure {
  if (state === 'busy') return { fault, message: 'The database is busy. Retry the request.', retryAfter: 1 }
  return { fault, message: 'The database is currently unavailable. Retry the request.', retryAfter: 5 }
}

/** Returns an error's own code, such as `SQLITE_BUSY` or `EACCES`; empty where it has none. */
export function errorCode(error: unknown): string {
  return String(adapterCause(error).originalCode ?? (error as DriverError | undefined)?.code ?? '')
}

/** Returns what the engine says went wrong, in one line: Prisma writes the call above it. */
export function errorReason(error: unknown): string {
  const reason = String(adapterCause(error).originalMessage ?? (error as DriverError | undefined)?.message ?? error)
  return reason.trim().split('\n').at(-1) ?? reason
}

/**
 * Returns what Prisma's driver adapter says of an error: its `kind`, such as `ConnectionClosed`, and what that kind has.
 * Prisma's own codes do not tell: a locked database is P1008 from a model's method and P2010, like every failure, from raw
 * SQL (Prisma 7.10).
 */
export function adapterCause(error: unknown): AdapterCause {
  const { cause, meta } = (error ?? {}) as DriverError
  return meta?.driverAdapterError?.cause ?? cause ?? {}
}

type AdapterCause = Partial<Record<'kind' | 'originalCode' | 'originalMessage' | 'port' | 'reason', unknown>>

/** The driver's errors have `code` and `message`; the driver adapter puts both in `cause`, Prisma Client that in `meta`. */
interface DriverError {
  readonly code?: unknown
  readonly message?: unknown
  readonly cause?: AdapterCause
  readonly meta?: { readonly driverAdapterError?: DriverError }
}

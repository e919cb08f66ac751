import type { StorageFault, TemporaryFailure } from '../../database.ts'
import { adapterCause, DatabaseError, errorCode, errorReason, temporaryFailure } from '../../database-error.ts'
import { retryWhile } from '../../shared/retry.ts'
import { describeDatabase, readServerAddress } from './server-address.ts'

/**
 * Errors without a SQLSTATE of their own: codes of Node.js, then messages of the driver, of PgBouncer (pg 8.23, PgBouncer
 * 1.18) and of our conditions.
 */
const STATES: readonly (readonly [error: RegExp, state: string])[] = [
  [/^(ENOTFOUND|EAI_AGAIN)$/, 'UNKNOWN_HOST'],
  [/^(ECONNREFUSED|ENOENT)$/, 'CLOSED_PORT'],
  [/^(ECONN(RESET|ABORTED)|EPIPE|ETIMEDOUT|E(HOST|NET)(UNREACH|DOWN)|EADDRNOTAVAIL)$/, 'NETWORK'],
  [/^(ERR_(SSL|TLS|OSSL)_|ERROR_IN_|CERT_|CRL_|SELF_SIGNED_|DEPTH_ZERO_|UNABLE_TO_|HOSTNAME_|INVALID_|EPROTO)/, 'TLS'],
  [/^(timeout exceeded when trying to connect|timeout expired|Query read timeout|Connection terminated)/, 'NETWORK'],
  [/^(Client has encountered a connection error|Client was closed|(read|write|connect) E)/, 'NETWORK'],
  [/^(The server does not support SSL|There was an error establishing an SSL|Client network socket disconn)/, 'TLS'],
  [/^SASL: /, '28P01'],
  [/unsupported startup parameter/, '42P05'],
  [/^(no such database|bouncer config error)/, '3D000'],
  [/The server is a standby/, '25006'],
  [/\b(fsync|full_page_writes|synchronous_commit) = off\b/, 'NOT_DURABLE'],
]

/**
 * What goes away by itself within a moment: conflicts, locks, timeouts, too many connections. 0A000: a migration has changed a
 * table that a prepared statement reads; the pool has removed the connection.
 */
const SOON = /^(40001|40P01|55P03|57014|53300|0A000)$/
/** A server that stops, starts, or was demoted, and a connection that it has ended. */
const LATER = /^(57P0[1-5]|25P0[34]|08\w{3}|25006|NETWORK|CLOSED_PORT|UNKNOWN_HOST)$/
/** What an operator has to fix: a password, a certificate, a right, a setting, a full or damaged disk. */
const UNTIL_FIXED = /^((26|28|3D|53)\w{3}|42501|42P05|58030|XX00[12]|TLS|NOT_DURABLE)$/

const FAULTS: readonly (readonly [state: RegExp, fault: StorageFault])[] = [
  [/^(40001|40P01|55P03|57014)$/, 'locked'],
  [/^53100$/, 'disk-full'],
  [/^25006$/, 'read-only'],
  [/^(58030|XX00[12])$/, 'io-error'],
]

/** For the operator, after the description of the database; `$` is what PostgreSQL or the driver says. */
const SENTENCES: readonly (readonly [state: RegExp, sentence: string])[] = [
  [/^28/, 'rejects this user or password: check DATABASE_URL, PGPASSWORD or ~/.pgpass, and pg_hba.conf'],
  [/^(3D000|57P04)$/, 'does not exist: run "plant-store migrate" to create it, restore it, or check DATABASE_URL'],
  [/^(42P05|26)/, 'is behind a pooler in transaction mode: add pgbouncer=true to DATABASE_URL'],
  [
    /^42501$/,
    'does not allow this user to do that ($): run it as the owner of the database, or GRANT the rights that edit-rights.sql or docs/production/several-machines/rights.sql lists',
  ],
  [
    /^(3F|42)/,
    'lacks what a migration created ($): run "plant-store migrate", rename it back, correct the search_path of this user, or restore a backup',
  ],
  [/^NOT_DURABLE$/, 'has $, so that a power failure loses plants that were acknowledged: set it to on'],
  [/^25006$/, 'is read-only: DATABASE_URL must lead to the primary, and default_transaction_read_only must be off'],
  [/^53300$/, 'accepts no more connections: raise max_connections, or lower connection_limit in DATABASE_URL'],
  [/^53100$/, 'cannot be written because the disk is full: free some space and retry'],
  [
    /^(55P03|57014)$/,
    'is locked by another transaction: end that one (see pg_stat_activity and pg_locks), or wait for it',
  ],
  [/^57P03$/, 'is starting or recovering: wait for it and retry'],
  [/^UNKNOWN_HOST$/, 'cannot be reached: its host name is unknown; correct it in DATABASE_URL, or check DNS'],
  [
    /^CLOSED_PORT$/,
    'cannot be reached: nothing listens there; start PostgreSQL, or correct host and port in DATABASE_URL',
  ],
  [
    /^(NETWORK|57P0[125]|08\w{3})$/,
    'does not respond: check that PostgreSQL runs there, DATABASE_URL and the firewall',
  ],
  [/^TLS$/, 'cannot be reached over TLS: check sslmode and the certificates ($)'],
  [/^/, 'cannot be used: $'],
]

/** How long opening a database waits until it responds, and the longest pause between two attempts, in milliseconds. */
const OPENING = { patience: 10_000, maxPause: 500 }

/** Returns the SQLSTATE of an error, or what it is called here. */
export function sqlState(error: unknown): string {
  const { kind, port } = adapterCause(error)
  // The adapter drops the code of an error of the network; only a refused connection had reached a port.
  if (kind === 'DatabaseNotReachable') return port === undefined ? 'UNKNOWN_HOST' : 'CLOSED_PORT'
  if (kind === 'ConnectionClosed' || kind === 'SocketTimeout') return 'NETWORK'
  if (kind === 'TlsConnectionError') return 'TLS'
  const [code, reason] = [errorCode(error), errorReason(error)]
  return STATES.find(([pattern]) => pattern.test(code) || pattern.test(reason))?.[1] ?? code
}

/** Returns whether this process gave a statement up: nothing came back. */
export function isSilent(error: unknown): boolean {
  return errorReason(error) === 'Query read timeout'
}

/** Returns whether repeating a statement may help soon. A statement that was lost on the way may have been committed. */
export function isTemporary(error: unknown): boolean {
  const state = sqlState(error)
  return SOON.test(state) || LATER.test(state)
}

/**
 * Runs an operation of a startup, again while the database does not respond: it may be starting too.
 *
 * @throws the operation's last error, or the signal's reason
 */
export function retryWhileUnavailable<Result>(run: () => Promise<Result>, signal?: AbortSignal): Promise<Result> {
  return retryWhile(isTemporary, run, { ...OPENING, signal })
}

/** Recognizes an error that may go away by itself, or once an operator has fixed the database. */
export function toTemporaryFailure(error: unknown): TemporaryFailure | undefined {
  const state = sqlState(error)
  const fault = FAULTS.find(([pattern]) => pattern.test(state))?.[1] ?? 'unavailable'
  if (SOON.test(state)) return temporaryFailure(fault, 'busy')
  if (LATER.test(state) || UNTIL_FIXED.test(state) || error instanceof DatabaseError) {
    return temporaryFailure(fault, 'unavailable')
  }
  return undefined
}

/** Turns any error met while using a database into a DatabaseError, with the error as its cause. */
export function toDatabaseError(error: unknown, database: string): DatabaseError {
  if (error instanceof DatabaseError) return error
  const state = sqlState(error)
  const [, sentence = ''] = SENTENCES.find(([pattern]) => pattern.test(state)) ?? []
  const text = String(adapterCause(error).reason ?? errorReason(error))
  const reason = state === 'NOT_DURABLE' ? text.replace(/^.*?(\w+ = off).*$/, '$1') : text
  return new DatabaseError(`${database} ${sentence.replace('$', () => reason)}`, { cause: error })
}

/** Turns an error of Prisma or the driver into a DatabaseError, and returns any other error as it is. */
export function explainDatabaseError(error: unknown, url: string): unknown {
  if (!(error instanceof Error)) return error
  const isAdapters = /^(PrismaClient|DriverAdapterError)/.test(error.name)
  const isDrivers = /^error$/i.test(error.name) && ('severity' in error || toTemporaryFailure(error) !== undefined)
  return isAdapters || isDrivers ? toDatabaseError(error, describeDatabase(readServerAddress(url))) : error
}

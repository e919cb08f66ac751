import type { StorageFault, TemporaryFailure } from '../../database.ts'
import { DatabaseError, errorCode, errorKind, errorReason } from '../../database-error.ts'
import { retryWhile } from '../../shared/retry.ts'
import { describeDatabase, readServerAddress } from './server-address.ts'

/** What failures are called here that have no SQLSTATE: the driver and its adapter have codes, kinds and bare messages. */
const [NETWORK, CLOSED_PORT, UNKNOWN_HOST, TLS] = ['NETWORK', 'CLOSED_PORT', 'UNKNOWN_HOST', 'TLS']
const CODES: readonly (readonly [code: RegExp, state: string])[] = [
  [/^(ENOTFOUND|EAI_AGAIN)$/, UNKNOWN_HOST],
  [/^(ECONNREFUSED|ENOENT)$/, CLOSED_PORT],
  [/^(ECONN(RESET|ABORTED)|EPIPE|ETIMEDOUT|E(HOST|NET)(UNREACH|DOWN)|EADDRNOTAVAIL)$/, NETWORK],
  [/^(ERR_(SSL|TLS|OSSL)_|ERROR_IN_|CERT_|CRL_|SELF_SIGNED_|DEPTH_ZERO_|UNABLE_TO_|HOSTNAME_|INVALID_|EPROTO)/, TLS],
]
/** Errors that have nothing but a message (pg 8.23, PgBouncer 1.18). */
const MESSAGES: readonly (readonly [message: RegExp, state: string])[] = [
  [/^(timeout exceeded when trying to connect|timeout expired|Query read timeout|Connection terminated)/, NETWORK],
  [/^(Client has encountered a connection error|Client was closed|(read|write|connect) E)/, NETWORK],
  [/^(The server does not support SSL|There was an error establishing an SSL|Client network socket disconnected)/, TLS],
  [/^SASL: /, '28P01'],
  [/unsupported startup parameter/, '42P05'],
  [/^(no such database|bouncer config error)/, '3D000'],
]

/** SQLSTATEs that go away by themselves within a moment: conflicts, locks, timeouts, too many connections. */
const SOON = /^(40001|40P01|55P03|57014|53300)$/
/** SQLSTATEs of a server that stops, starts, was demoted, or has no room, and of a connection that it has ended. */
const LATER = /^(57P0[1-5]|25P0[34]|08\w{3}|25006|53\w{3}|58030|NETWORK|CLOSED_PORT|UNKNOWN_HOST)$/
/** Of these, what another attempt does not help within a request: a full disk, no memory, an I/O error. */
const NO_ROOM = /^(53100|53200|53400|58030)$/
/**
 * What an operator has to fix, without a restart: a password, a certificate, a pooler, a right, and a database, schema, table
 * or column that was dropped or renamed. Damaged data too.
 */
const UNTIL_FIXED = /^((26|28|3D|3F|42)\w{3}|XX00[12]|TLS)$/

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
    'does not allow this user to do that ($): run it as the owner of the database, or GRANT the rights that docs/production/several-machines/rights.sql lists',
  ],
  [
    /^(3F|42)/,
    'lacks what a migration created ($): run "plant-store migrate", rename it back, correct the search_path of this user, or restore a backup',
  ],
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

/** How long opening a database waits until it responds, in milliseconds. */
const OPEN_PATIENCE = 10_000
const MAX_PAUSE = 500

/** Returns the SQLSTATE of an error, or what it is called here. */
export function sqlState(error: unknown): string {
  const code = errorCode(error)
  const kind = errorKind(error)
  if (kind === 'TlsConnectionError') return TLS
  // The adapter drops the code of an error of the network; only a refused connection had reached a port.
  if (kind === 'DatabaseNotReachable') return portOf(error) === undefined ? UNKNOWN_HOST : CLOSED_PORT
  if (kind === 'ConnectionClosed' || kind === 'SocketTimeout') return NETWORK
  const state =
    CODES.find(([pattern]) => pattern.test(code)) ?? MESSAGES.find(([text]) => text.test(errorReason(error)))
  return state?.[1] ?? code
}

function portOf(error: unknown): unknown {
  return (error as { cause?: { port?: unknown } }).cause?.port
}

/** Returns whether repeating a statement may help soon. A statement that was lost on the way may have been committed. */
export function isTemporary(error: unknown): boolean {
  const state = sqlState(error)
  return (SOON.test(state) || LATER.test(state) || isStalePlan(error)) && !NO_ROOM.test(state)
}

/** A migration has changed a table that a prepared statement reads. The pool has removed the connection with the error. */
function isStalePlan(error: unknown): boolean {
  return errorCode(error) === '0A000' && /cached plan/.test(errorReason(error))
}

/** Returns whether a write failed because of the server's disk or memory. */
export function isNoRoom(error: unknown): boolean {
  return NO_ROOM.test(sqlState(error))
}

/**
 * Runs an operation of a startup, again while the database does not respond: it may be starting too.
 *
 * @throws the operation's last error, or the signal's reason
 */
export function retryWhileUnavailable<Result>(run: () => Promise<Result>, signal?: AbortSignal): Promise<Result> {
  return retryWhile(isTemporary, run, { patience: OPEN_PATIENCE, maxPause: MAX_PAUSE, signal })
}

/** Recognizes an error that may go away without a restart. */
export function toTemporaryFailure(error: unknown): TemporaryFailure | undefined {
  const state = sqlState(error)
  const fault = FAULTS.find(([pattern]) => pattern.test(state))?.[1] ?? 'unavailable'
  if (SOON.test(state) || isStalePlan(error)) {
    return { fault, message: 'The database is busy. Retry the request.', retryAfter: 1 }
  }
  if (LATER.test(state) || UNTIL_FIXED.test(state) || error instanceof DatabaseError) {
    return { fault, message: 'The database is currently unavailable. Retry the request.', retryAfter: 5 }
  }
  return undefined
}

/** Explains for `/readyz` why a statement failed. */
export function explainUnavailable(error: unknown): string {
  return `${toDatabaseError(error, 'the database').message.replace(/^t/, 'T')}.`
}

/** Turns any error met while using a database into a DatabaseError, with the error as its cause. */
export function toDatabaseError(error: unknown, database: string): DatabaseError {
  if (error instanceof DatabaseError) return error
  const state = sqlState(error)
  const [, sentence = ''] = SENTENCES.find(([pattern]) => pattern.test(state)) ?? []
  const reason = state === TLS ? tlsReason(error) : errorReason(error)
  return new DatabaseError(`${database} ${sentence.replace('$', () => reason)}`, { cause: error })
}

function tlsReason(error: unknown): string {
  const { cause } = error as { cause?: { reason?: unknown } }
  return String(cause?.reason ?? errorReason(error))
}

/** Turns an error of Prisma or the driver into a DatabaseError, and returns any other error as it is. */
export function explainDatabaseError(error: unknown, url: string): unknown {
  if (!(error instanceof Error)) return error
  const isAdapters = /^(PrismaClient|DriverAdapterError)/.test(error.name)
  const isDrivers = /^error$/i.test(error.name) && ('severity' in error || toTemporaryFailure(error) !== undefined)
  return isAdapters || isDrivers ? toDatabaseError(error, describeDatabase(readServerAddress(url))) : error
}

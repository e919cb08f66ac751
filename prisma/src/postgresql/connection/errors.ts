import type { StorageFault, TemporaryFailure } from '../../database.ts'
import { DatabaseError, errorCode, errorKind, errorReason } from '../../database-error.ts'
import { describeDatabase, readServerAddress } from './server-address.ts'

type Sentences = readonly (readonly [code: RegExp, sentence: string])[]

/** What failures are called here that have no SQLSTATE: the driver and its adapter have codes, kinds and bare messages. */
const NETWORK = 'NETWORK'
const TLS = 'TLS'
const NETWORK_KINDS = /^(ConnectionClosed|DatabaseNotReachable|SocketTimeout)$/
const NETWORK_CODES = [
  ...['ECONNREFUSED', 'ECONNRESET', 'ECONNABORTED', 'EPIPE', 'ETIMEDOUT', 'ENOTFOUND', 'EAI_AGAIN', 'ENOENT'],
  ...['EHOSTUNREACH', 'EHOSTDOWN', 'ENETUNREACH', 'ENETDOWN', 'EADDRNOTAVAIL'],
]
const TLS_CODES =
  /^(ERR_(SSL|TLS|OSSL)_|ERROR_IN_|CERT_|CRL_|SELF_SIGNED_|DEPTH_ZERO_|UNABLE_TO_|HOSTNAME_|INVALID_|EPROTO)/
/** Errors that have nothing but a message (pg 8.23, PgBouncer 1.18). */
const MESSAGES: readonly (readonly [message: RegExp, state: string])[] = [
  [/^(timeout exceeded when trying to connect|timeout expired|Query read timeout|Connection terminated)/, NETWORK],
  [/^(Client has encountered a connection error|Client was closed|(read|write|connect) E|getaddrinfo )/, NETWORK],
  [/^(The server does not support SSL|There was an error establishing an SSL|Client network socket disconnected)/, TLS],
  [/^SASL: /, '28P01'],
  [/unsupported startup parameter/, '42P05'],
  [/^(no such database|bouncer config error)/, '3D000'],
]

/** SQLSTATEs that go away by themselves within a moment: conflicts, locks, timeouts, too many connections. */
const SOON = /^(40001|40P01|55P03|57014|53300)$/
/** SQLSTATEs of a server that stops, starts, was demoted, or has no room, and of a connection that it has ended. */
const LATER = /^(57P0[1-5]|25P0[34]|08\w{3}|25006|53\w{3}|58030|NETWORK)$/
/** Of these, what another attempt does not help within a request: a full disk, no memory, an I/O error. */
const NO_ROOM = /^(53100|53200|53400|58030)$/
/** What an operator has to fix, without a restart: a password, a certificate, a database that was dropped or renamed. */
const UNTIL_FIXED = /^(28\w{3}|3D000|TLS)$/

const FAULTS: readonly (readonly [state: RegExp, fault: StorageFault])[] = [
  [/^(40001|40P01|55P03|57014)$/, 'locked'],
  [/^53100$/, 'disk-full'],
  [/^25006$/, 'read-only'],
  [/^58030$/, 'io-error'],
]

/** For the operator, after the description of the database. */
const STARTUP_SENTENCES: Sentences = [
  [/^28/, 'rejects this user or password: check DATABASE_URL, PGPASSWORD or ~/.pgpass, and pg_hba.conf'],
  [/^3D000$/, 'does not exist: run "plant-store migrate" to create it, or check DATABASE_URL'],
  [/^42P01$/, 'is not migrated: run "plant-store migrate"'],
  [
    /^42501$/,
    'does not allow this user to do that: run it as the owner of the database, or grant the right to this user',
  ],
  [/^25006$/, 'is read-only: DATABASE_URL must lead to the primary'],
  [/^53300$/, 'accepts no more connections: raise max_connections, or lower connection_limit in DATABASE_URL'],
  [/^53100$/, 'cannot be written because the disk is full: free some space and retry'],
  [/^55P03$/, 'is locked by another transaction: end that one, or wait for it, and retry'],
  [/^57P03$/, 'is starting or recovering: wait for it and retry'],
  [/^(42P05|26000)$/, 'is behind a pooler in transaction mode: add pgbouncer=true to DATABASE_URL'],
  [/^NETWORK$/, 'cannot be reached: check that PostgreSQL runs there, DATABASE_URL and the firewall'],
  [/^TLS$/, 'cannot be reached over TLS: check sslmode and the certificates'],
]

/** For `/readyz`. */
const READINESS_SENTENCES: Sentences = [
  [/^(NETWORK|57P0[1235]|08\w{3})$/, 'The database does not respond.'],
  [/^25006$/, 'The database is read-only: its address must lead to the primary.'],
  [/^(55P03|57014)$/, 'An open transaction blocks new plants: end it (see pg_stat_activity and pg_locks).'],
  [/^53300$/, 'The database accepts no more connections: raise max_connections, or lower connection_limit.'],
  [/^53100$/, "The database's disk is full: free some space."],
  [/^28/, 'The database rejects the user or password of this server: restore them, or restart with others.'],
  [/^(3D000|57P04)$/, 'The database does not exist any more: restore it.'],
  [/^42P01$/, 'The database lacks a table: restore it.'],
  [/^TLS$/, 'The database cannot be reached over TLS: check its certificate.'],
]

/** Returns the SQLSTATE of an error, or what it is called here: NETWORK or TLS. */
export function sqlState(error: unknown): string {
  const code = errorCode(error)
  const kind = errorKind(error)
  if (NETWORK_KINDS.test(kind) || NETWORK_CODES.includes(code)) return NETWORK
  if (kind === 'TlsConnectionError' || TLS_CODES.test(code)) return TLS
  return MESSAGES.find(([message]) => message.test(errorReason(error)))?.[1] ?? code
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

/** Returns whether a statement got no response at all in its time. */
export function isSilence(error: unknown): boolean {
  return error instanceof Error && error.message === 'Query read timeout'
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
  if (error instanceof DatabaseError) return `${error.message.replace(/^t/, 'T')}.`
  const sentence = sentenceFor(sqlState(error), READINESS_SENTENCES)
  return sentence ?? `The database cannot be written: ${errorReason(error)}.`
}

/** Turns any error met while using a database into a DatabaseError, with the error as its cause. */
export function toDatabaseError(error: unknown, database: string): DatabaseError {
  if (error instanceof DatabaseError) return error
  const state = sqlState(error)
  const sentence = sentenceFor(state, STARTUP_SENTENCES) ?? `cannot be used: ${errorReason(error)}`
  const reason = state === TLS ? ` (${tlsReason(error)})` : ''
  return new DatabaseError(`${database} ${sentence}${reason}`, { cause: error })
}

function tlsReason(error: unknown): string {
  const { cause } = error as { cause?: { reason?: unknown } }
  return String(cause?.reason ?? errorReason(error))
}

function sentenceFor(state: string, sentences: Sentences): string | undefined {
  return sentences.find(([pattern]) => pattern.test(state))?.[1]
}

/** Turns an error of Prisma or the driver into a DatabaseError, and returns any other error as it is. */
export function explainDatabaseError(error: unknown, url: string): unknown {
  if (!(error instanceof Error)) return error
  const isAdapters = /^(PrismaClient|DriverAdapterError)/.test(error.name)
  const isDrivers = /^error$/i.test(error.name) && ('severity' in error || toTemporaryFailure(error) !== undefined)
  return isAdapters || isDrivers ? toDatabaseError(error, describeDatabase(readServerAddress(url))) : error
}

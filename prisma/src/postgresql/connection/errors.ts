import type { TemporaryFailure } from '../../database.ts'
import { DatabaseError, errorCode, errorReason } from '../../database-error.ts'
import { describeDatabase, readServerAddress } from './server-address.ts'

type Sentences = readonly (readonly [code: RegExp, sentence: string])[]

/** What a failure of the network is called here: the driver and its adapter have codes, kinds and bare messages for it. */
const NETWORK = 'NETWORK'
const NETWORK_KINDS = /^(ConnectionClosed|DatabaseNotReachable|SocketTimeout)$/
const NETWORK_CODES = /^(E(CONNREFUSED|CONNRESET|PIPE|TIMEDOUT|HOSTUNREACH|NETUNREACH|NOTFOUND|AI_AGAIN)|ENOENT)$/
/** Errors of the driver that have nothing but a message (pg 8.23). */
const NETWORK_MESSAGES =
  /^(timeout exceeded when trying to connect|Query read timeout|Connection terminated|Client has encountered a connection error|Client was closed|Client network socket disconnected|read E|write E|connect E|getaddrinfo )/

/** SQLSTATEs that go away by themselves within a moment: conflicts, locks, timeouts, too many connections. */
const SOON = /^(40001|40P01|55P03|57014|53300)$/
/** SQLSTATEs of a server that stops, starts, was demoted, or has no room. */
const LATER = /^(57P0[123]|08\w{3}|25006|53\w{3}|58030|NETWORK)$/
/** Of these, what another attempt does not help within a request: a full disk, no memory, an I/O error. */
const NO_ROOM = /^(53100|53200|53400|58030)$/

/** For the operator, after the description of the database. */
const STARTUP_SENTENCES: Sentences = [
  [/^(28P01|28000)$/, 'rejects this user or password: check DATABASE_URL, PGPASSWORD or ~/.pgpass, and pg_hba.conf'],
  [/^3D000$/, 'does not exist: run "plant-store migrate" to create it, or check DATABASE_URL'],
  [/^42P01$/, 'is not migrated: run "plant-store migrate"'],
  [/^42501$/, 'does not allow this user to do that: make it the owner of the database'],
  [/^25006$/, 'is read-only: DATABASE_URL must lead to the primary'],
  [/^53300$/, 'accepts no more connections: raise max_connections, or lower connection_limit in DATABASE_URL'],
  [/^53100$/, 'cannot be written because the disk is full: free some space and retry'],
  [/^55P03$/, 'is locked by another transaction: end that one, or wait for it, and retry'],
  [/^57P03$/, 'is starting or recovering: wait for it and retry'],
  [/^(42P05|26000|08P01)$/, 'is behind a pooler in transaction mode: add pgbouncer=true to DATABASE_URL'],
  [/^NETWORK$/, 'cannot be reached: check that PostgreSQL runs there, DATABASE_URL and the firewall'],
]

/** For `/readyz`. */
const READINESS_SENTENCES: Sentences = [
  [/^25006$/, 'The database is read-only: its address must lead to the primary.'],
  [/^(55P03|57014)$/, 'An open transaction blocks new plants: end it (see pg_stat_activity and pg_locks).'],
  [/^53300$/, 'The database accepts no more connections: raise max_connections, or lower connection_limit.'],
  [/^53100$/, "The database's disk is full: free some space."],
]

/** Returns the SQLSTATE of an error, or that it is one of the network. */
export function sqlState(error: unknown): string {
  const code = errorCode(error)
  const kind = String((error as { cause?: { kind?: unknown } } | undefined)?.cause?.kind ?? '')
  const prismaKind = metaKind(error)
  if (NETWORK_KINDS.test(kind) || NETWORK_KINDS.test(prismaKind)) return NETWORK
  if (NETWORK_CODES.test(code) || NETWORK_MESSAGES.test(errorReason(error))) return NETWORK
  return code
}

function metaKind(error: unknown): string {
  const { meta } = (error ?? {}) as { meta?: { driverAdapterError?: { cause?: { kind?: unknown } } } }
  return String(meta?.driverAdapterError?.cause?.kind ?? '')
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

/** Recognizes an error that may go away without a restart. */
export function toTemporaryFailure(error: unknown): TemporaryFailure | undefined {
  const state = sqlState(error)
  if (SOON.test(state) || isStalePlan(error)) {
    return { message: 'The database is busy. Retry the request.', retryAfter: 1 }
  }
  if (LATER.test(state)) return { message: 'The database is currently unavailable. Retry the request.', retryAfter: 5 }
  return undefined
}

/** Explains for `/readyz` why a statement failed. */
export function explainUnavailable(error: unknown): string {
  const state = sqlState(error)
  if (state === NETWORK || /^57P|^08/.test(state)) return 'The database does not respond.'
  return sentenceFor(state, READINESS_SENTENCES) ?? `The database cannot be written: ${errorReason(error)}.`
}

/** Turns any error met while using a database into a DatabaseError, with the error as its cause. */
export function toDatabaseError(error: unknown, database: string): DatabaseError {
  if (error instanceof DatabaseError) return error
  const sentence = sentenceFor(sqlState(error), STARTUP_SENTENCES) ?? `cannot be used: ${errorReason(error)}`
  return new DatabaseError(`${database} ${sentence}`, { cause: error })
}

function sentenceFor(state: string, sentences: Sentences): string | undefined {
  return sentences.find(([pattern]) => pattern.test(state))?.[1]
}

/** Turns an error of Prisma or the driver into a DatabaseError, and returns any other error as it is. */
export function explainDatabaseError(error: unknown, url: string): unknown {
  const isOfDatabase = error instanceof Error && /^(PrismaClient|DriverAdapterError)/.test(error.name)
  return isOfDatabase ? toDatabaseError(error, describeDatabase(readServerAddress(url))) : error
}

import { isDriverAdapterError } from '@prisma/driver-adapter-utils'
import { StorageError, type StorageFailure, type StorageFault } from '../database.ts'

/** Conflicts, locks, time limits, too many connections: it goes away by itself within a moment. */
const soon = (fault: StorageFault): StorageFailure => ({ fault, retryAfter: 1, isTemporary: true })
/** A server that stops, starts, or was demoted, and a connection that it has ended. */
const later = (fault: StorageFault): StorageFailure => ({ fault, retryAfter: 5, isTemporary: true })
/** What an operator has to fix: a password, a certificate, a right, a setting, a full or damaged disk. */
const untilFixed = (fault: StorageFault): StorageFailure => ({ fault, retryAfter: 5, isTemporary: false })

/** Nothing is known of what was sent: it may have happened. */
const LOST =
  /^(ECONN(RESET|ABORTED)|EPIPE|ETIMEDOUT) |Query read timeout|Connection terminated|Client has encountered|Client was closed|^ (read|write) E/
const UNREACHABLE = 'does not respond: check that PostgreSQL runs there, DATABASE_URL and the firewall'

/**
 * By the code of an error, a SQLSTATE or one of Node.js, and its message: of PostgreSQL, the driver, PgBouncer (pg 8.23, PgBouncer
 * 1.18) and our conditions. Each says what an operator should do, after the description of the database; `$` is the message.
 */
const STATES: readonly (readonly [error: RegExp, StorageFailure, sentence: string])[] = [
  [
    /\b(fsync|full_page_writes|synchronous_commit) = off\b/,
    untilFixed('unavailable'),
    'has $, so that a power failure loses plants that were acknowledged: set it to on',
  ],
  [
    /Plants have no order/,
    untilFixed('unavailable'),
    'does not keep plants in order, since its advisory locks or triggers have no effect: use PostgreSQL itself',
  ],
  [
    /^25006 |The server is a standby/,
    later('read-only'),
    'is read-only: DATABASE_URL must lead to the primary, and default_transaction_read_only must be off',
  ],
  [
    /^28\w{3} |^ SASL: /,
    untilFixed('unavailable'),
    'rejects this user or password: check DATABASE_URL, PGPASSWORD or the password file, and pg_hba.conf',
  ],
  [
    /^3D000 |^\w* ?(no such database|bouncer config error)/,
    untilFixed('unavailable'),
    'does not exist: create it (CREATE DATABASE), restore it, or check DATABASE_URL',
  ],
  [
    /^(42P05|26\w{3}) |unsupported startup parameter/,
    untilFixed('unavailable'),
    'is behind a pooler in transaction mode: add pgbouncer=true to DATABASE_URL',
  ],
  [
    /row-level security/,
    untilFixed('unavailable'),
    'hides rows from this user ($): run ALTER TABLE ... DISABLE ROW LEVEL SECURITY, or let the user bypass it (ALTER ROLE ... BYPASSRLS)',
  ],
  [
    /^42501 /,
    untilFixed('unavailable'),
    'does not allow this user to do that ($): run it as the owner of the database, or GRANT the rights that edit-rights.sql or docs/production/several-machines/rights.sql lists',
  ],
  [
    /^(3F\w{3}|42P01|42883) /,
    untilFixed('unavailable'),
    'lacks what a migration created ($): run "plant-store migrate", rename it back, correct the search_path of this user, or restore a backup',
  ],
  [
    /^53300 /,
    soon('unavailable'),
    'accepts no more connections: raise max_connections, or lower connection_limit in DATABASE_URL',
  ],
  [/^53100 /, untilFixed('disk-full'), 'cannot be written because the disk is full: free some space and retry'],
  [/^53\w{3} /, untilFixed('unavailable'), 'has no resources left: $'],
  [/^(58030|XX00[12]) /, untilFixed('io-error'), 'cannot read or write its files: $'],
  [
    /^(40001|40P01|55P03|57014) /,
    soon('locked'),
    'is locked by another transaction: end that one (see pg_stat_activity and pg_locks), or wait for it',
  ],
  // A migration has changed a table that a prepared statement reads; the pool has removed the connection.
  [/^0A000 /, soon('unavailable'), 'was migrated meanwhile: retry'],
  [/^57P03 /, later('unavailable'), 'is starting or recovering: wait for it and retry'],
  [/^57P04 /, later('unavailable'), 'does not exist: restore it, or check DATABASE_URL'],
  [
    /^(ENOTFOUND|EAI_AGAIN) /,
    later('unavailable'),
    'cannot be reached: its host name is unknown; correct it in DATABASE_URL, or check DNS',
  ],
  [
    /^(ECONNREFUSED|ENOENT) /,
    later('unavailable'),
    'cannot be reached: nothing listens there; start PostgreSQL, or correct host and port in DATABASE_URL',
  ],
  [LOST, later('unavailable'), UNREACHABLE],
  [
    /^(57P0[125]|25P0[34]|08\w{3}|E(HOST|NET)(UNREACH|DOWN)|EADDRNOTAVAIL) |^ (timeout e|connect E)/,
    later('unavailable'),
    UNREACHABLE,
  ],
  [
    /^(ERR_(SSL|TLS|OSSL)_|ERROR_IN_|CERT_|CRL_|SELF_SIGNED_|DEPTH_ZERO_|UNABLE_TO_|HOSTNAME_|INVALID_|EPROTO)|^ (The server does not support SSL|There was an error establishing an SSL|Client network socket disconn)/,
    untilFixed('unavailable'),
    'cannot be reached over TLS: check sslmode and the certificates ($)',
  ],
]

/** Kinds of errors of which the adapter drops the code. Only a refused connection had reached a port. */
const KINDS: Readonly<Record<string, string>> = {
  ConnectionClosed: 'ECONNRESET',
  SocketTimeout: 'ETIMEDOUT',
  TlsConnectionError: 'ERR_TLS_CONNECTION',
}

/** Returns the code of an error and its message, with a space between. */
export function describeError(error: unknown): string {
  if (!isDriverAdapterError(error)) {
    const { code = '', message } = error as NodeJS.ErrnoException
    return `${code} ${message}`
  }
  const { kind, originalCode, originalMessage, port, reason } = error.cause as Record<string, unknown>
  const unreachable = port === undefined ? 'ENOTFOUND' : 'ECONNREFUSED'
  const code = originalCode ?? (kind === 'DatabaseNotReachable' ? unreachable : KINDS[String(kind)])
  return `${code ?? ''} ${originalMessage ?? reason ?? error.message}`
}

/**
 * Translates an error of PostgreSQL, the driver or the network. What is a mistake in SQL or a unique key that is taken, and every
 * other error, stays as it is.
 */
export function translate(error: unknown, database: string): unknown {
  if (error instanceof StorageError) return error
  const text = describeError(error)
  const [pattern, failure, sentence = ''] = STATES.find(([known]) => known.test(text)) ?? []
  if (!pattern) return error
  const setting = /\w+ = off/.exec(text)?.[0]
  const reason = setting ?? text.slice(text.indexOf(' ') + 1)
  return new StorageError(`${database} ${sentence.replace('$', () => reason)}`, { ...failure, cause: error })
}

/** Creates the error of what this process gives up. */
export function lateError(database: string): StorageError {
  return new StorageError(`${database} ${UNREACHABLE}`, later('unavailable'))
}

/** Returns whether what failed may have happened all the same: nothing came back. */
export function mayHaveHappened(error: unknown): boolean {
  return LOST.test(describeError((error as Error).cause ?? error))
}

/** Returns whether this process gave a statement up. */
export function isSilent(error: unknown): boolean {
  return /Query read timeout/.test(describeError(error))
}

/** Returns whether a lock was not available in time. */
export function isLocked(error: unknown): boolean {
  return error instanceof StorageError && error.fault === 'locked'
}

import { StorageError, type StorageErrorFields, type StorageFault } from '../engine.ts'

/** Conflicts, locks, time limits, too many connections: it goes away by itself within a moment. */
const soon = (fault: StorageFault = 'unavailable'): StorageErrorFields => ({ fault, retryAfter: 1, isTemporary: true })
/** A server that stops, starts, or was demoted, and a connection that it has ended. */
const later = (fault: StorageFault = 'unavailable'): StorageErrorFields => ({ fault, retryAfter: 5, isTemporary: true })

const CHECK = 'check that PostgreSQL runs there, DATABASE_URL and the firewall'
const UNREACHABLE = `does not respond: ${CHECK}`

/**
 * A mistake in SQL, or a unique key that is taken, unless it has a row below; and what the driver's adapter cannot
 * read.
 */
const MISTAKE = /^(22|23|42)\w{3} |^ Unsupported/

/**
 * What is known of the database's state, by the code of an error, a SQLSTATE or one of Node.js, and its message: of
 * PostgreSQL, the driver, poolers (pg 8.23, PgBouncer 1.18, RDS Proxy) and our conditions. Each says what an operator
 * should do, after the description of the database; `$` is the message, which PostgreSQL may translate. Without fields,
 * it stays until an operator has fixed a password, a certificate, a right or a setting.
 */
const STATES: readonly (readonly [error: RegExp, sentence: string, fields?: StorageErrorFields])[] = [
  [
    /\b(fsync|full_page_writes|synchronous_commit) = off\b/,
    'has $, so that a power failure loses plants that were acknowledged: set it to on',
  ],
  [
    /Plants have no order/,
    'does not keep plants in order: run ALTER TABLE "Plant" ENABLE TRIGGER "Plant_order", and ALTER SEQUENCE "Plant_seq_seq" CACHE 1, then restart all servers',
  ],
  [
    /^25006 |The server is a standby/,
    'is read-only: DATABASE_URL must lead to the primary, and default_transaction_read_only must be off',
    later('read-only'),
  ],
  [
    /^28\w{3} |^ SASL: /,
    'rejects this user or password: check DATABASE_URL, PGPASSWORD or PGPASSWORD_FILE (~/.pgpass is not read), sslmode, and pg_hba.conf ($)',
  ],
  [
    /^(3D000|57P04) |^\w* ?(no such database|bouncer config error)/,
    'does not exist: create it (CREATE DATABASE), restore it, or check DATABASE_URL',
  ],
  [
    /^(42P05|26\w{3}) |unsupported startup parameter|command-line options/,
    'is behind a pooler in transaction mode ($): add pgbouncer=true to DATABASE_URL; if it is there, remove options',
  ],
  [/row-level security/, 'hides rows from this user: $'],
  [
    /^42501 /,
    'does not allow this user to do that ($): run it as the owner of the database, or GRANT the rights that docs/production/several-machines/rights.sql lists',
  ],
  [
    /^(3F\w{3}|42P01|42883) /,
    'lacks what a migration created ($): run "plant-store migrate", rename it back, correct the search_path of this user, or restore a backup',
  ],
  [/^53100 /, 'cannot be written because the disk is full: free some space and retry', { fault: 'disk-full' }],
  [/^(58030|XX00[12]) /, 'cannot read or write its files: $', { fault: 'io-error' }],
  [
    /^(40001|40P01|55P03) /,
    'is locked by another transaction: end that one (see pg_stat_activity and pg_locks), or wait for it',
    soon('locked'),
  ],
  // A number that the sequence gives twice, no more connections, a time limit, and a table that a migration has changed
  // since a statement was prepared.
  [/^(0A000|23505 .*\bPlant_pkey\b|53300|57014) ?/, 'fails: $', soon()],
  [
    /^(ERR_(SSL|TLS|OSSL)_|ERROR_IN_|CERT_|CRL_|SELF_SIGNED_|DEPTH_ZERO_|UNABLE_TO_|HOSTNAME_|INVALID_|EPROTO)|^ (The server does not support SSL|There was an error establishing an SSL|Client network socket disconn)|\b(SSL|TLS)( connection)?( is)? required|requires TLS|connection is insecure/,
    'cannot be reached over TLS: check sslmode and the certificates ($)',
  ],
  [/^(57P03|08\w{3}|ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ENOENT) /, `cannot be reached ($): ${CHECK}`, later()],
  [
    /^(57P0[125]|25P0[34]|ECONN(RESET|ABORTED)|EPIPE|ETIMEDOUT|E(HOST|NET)(UNREACH|DOWN)|EADDRNOTAVAIL) |^ (time|(connect|read|write) E)|Query read timeout|Connection terminated|Client has encountered|Client was closed/,
    UNREACHABLE,
    later(),
  ],
]

/** Returns the code of an error and its message, with a space between. */
export function describeError(error: unknown): string {
  const { code = '', message } = error as NodeJS.ErrnoException
  return `${code} ${message}`
}

/**
 * Translates an error of PostgreSQL, a pooler, the driver or the network. A mistake, in SQL or in the program, stays as
 * it is.
 */
export function translate(error: unknown, subject: string): unknown {
  const text = describeError(error)
  const known = STATES.find(([pattern]) => pattern.test(text))
  const isMistake = !known && (MISTAKE.test(text) || error instanceof TypeError)
  if (isMistake || error instanceof StorageError) return error
  if (!known) return new StorageError(`${subject} fails: ${text.trim()}`, { cause: error })
  const [, sentence, fields] = known
  // Where a name has several addresses, the error of all has no message.
  const reason = /\w+ = off/.exec(text)?.[0] ?? (text.slice(text.indexOf(' ') + 1) || text.trim())
  return new StorageError(`${subject} ${sentence.replace('$', () => reason)}`, { ...fields, cause: error })
}

/**
 * Creates the error of what this process gives up.
 *
 * @param full how many connections wait for a response, where no more may be opened
 * @param isTemporary whether nothing was sent, so that it may be retried
 */
export function lateError(subject: string, full?: number, isTemporary = false): StorageError {
  if (full === undefined) return new StorageError(`${subject} ${UNREACHABLE}`, { isTemporary })
  const waiting = `keeps all ${full} connections of this server waiting (connection_limit)`
  const advice = 'see pg_stat_activity and pg_locks for what they wait for, raise the limit, or check the network'
  return new StorageError(`${subject} ${waiting}: ${advice}`, { retryAfter: 1, isTemporary })
}

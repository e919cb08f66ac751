import type { SqlQueryable } from '@prisma/driver-adapter-utils'
import type { ClientBase, Pool } from 'pg'
import { DatabaseError } from '../../database-error.ts'
import { select } from '../../shared/sql.ts'
import { sqlState } from './errors.ts'

/** The oldest major version that PostgreSQL itself still maintains. */
const MIN_MAJOR_VERSION = 14

/** The lock that the migrations' trigger takes, so that plants become visible in the order of their numbers. */
export const ORDER_LOCK = '482854661748'
const TRIGGERS = ['Plant_deleted', 'Plant_order', 'Plant_truncated', 'Plant_updated_from', 'Plant_updated_to']

/**
 * A statement that fails if a request would, and changes nothing: where a table or column is locked, missing or not allowed.
 * It takes the lock on the order of plants.
 */
export const INSERT_NOTHING = `
  INSERT INTO "Plant" ("account", "id", "name", "tag")
  SELECT "plant"."account", "plant"."id", "plant"."name", "plant"."tag"
  FROM "Plant" AS "plant", "Token" AS "token", "Edits" AS "edits", "Secret" AS "secret"
  WHERE false AND ROW("plant"."seq", "token"."id", "token"."hash", "token"."account", "token"."scopes", "token"."label",
    "token"."createdAt", "token"."expiresAt", "token"."revokedAt", "edits"."account", "edits"."count", "secret"."name",
    "secret"."value") IS NULL`

const SELECT_STATE = `
  SELECT
    current_setting('fsync') AS fsync,
    current_setting('full_page_writes') AS full_page_writes,
    current_setting('synchronous_commit') AS synchronous_commit,
    current_setting('transaction_isolation') AS transaction_isolation,
    current_setting('server_encoding') AS server_encoding,
    current_setting('server_version') AS server_version,
    (SELECT string_agg(tgname, ' ') FROM pg_trigger
     WHERE tgrelid = '"Plant"'::regclass AND NOT tgisinternal AND tgenabled IN ('O', 'A')) AS triggers,
    (SELECT seqcache = 1 AND seqincrement = 1 FROM pg_sequence
     WHERE seqrelid = pg_get_serial_sequence('"Plant"', 'seq')::regclass) AS in_order`

const SELECT_SUITABILITY = `SELECT pg_is_in_recovery(), current_setting('synchronous_commit') = 'off'`
/** SQLSTATEs lock_not_available and read_only_sql_transaction. */
export const LOCK_TIMEOUT = '55P03'
const READ_ONLY = '25006'

/** The settings of a server, and what its schema has that Prisma does not know. */
type State = Record<string, unknown>

/**
 * Checks that a database keeps what the plant store promises: what is committed survives a power failure, texts are stored
 * as they are, and plants become visible in the order of their numbers.
 *
 * @param database names it in messages
 * @throws {DatabaseError} if a setting or the schema breaks a promise
 */
export async function checkPromises(
  { adapter, connections }: { adapter: SqlQueryable; connections: Pool },
  database: string,
): Promise<void> {
  const reason = (await whyNotKept(adapter)) ?? (await whyNotInOrder(connections))
  if (reason !== undefined) throw new DatabaseError(`${database} ${reason}`)
}

/** Explains which setting or part of the schema breaks a promise; undefined: none. Both may change at any time. */
export async function whyNotKept(connection: SqlQueryable): Promise<string | undefined> {
  const [state = {}] = await select(connection, SELECT_STATE)
  return whyNotDurable(state) ?? whyUnsuitable(state) ?? whyNotComplete(state)
}

function whyNotDurable(state: State): string | undefined {
  const off = ['fsync', 'full_page_writes', 'synchronous_commit'].find((name) => state[name] === 'off')
  return off && describeLoss(off)
}

function whyUnsuitable(state: State): string | undefined {
  if (state['server_encoding'] !== 'UTF8') {
    return `has the encoding ${state['server_encoding']}, which lacks characters: create one with UTF8`
  }
  if (state['transaction_isolation'] !== 'read committed') {
    return `has default_transaction_isolation = ${state['transaction_isolation']}: set it to read committed`
  }
  const version = String(state['server_version'])
  if (Number.parseInt(version, 10) >= MIN_MAJOR_VERSION) return undefined
  return `runs PostgreSQL ${version}: upgrade to ${MIN_MAJOR_VERSION} or newer`
}

function whyNotComplete(state: State): string | undefined {
  const present = String(state['triggers']).split(' ')
  const missing = TRIGGERS.find((name) => !present.includes(name))
  if (missing) {
    return `lacks the trigger "${missing}" on "Plant", or it is disabled: run ALTER TABLE "Plant" ENABLE TRIGGER ALL, or restore a backup`
  }
  if (state['in_order'] !== true) {
    return 'does not number plants one after the other: run ALTER SEQUENCE "Plant_seq_seq" INCREMENT 1 CACHE 1'
  }
  return undefined
}

/**
 * Tries whether a transaction that inserts keeps others out. In engines that only speak PostgreSQL's protocol, advisory
 * locks or triggers may do nothing.
 */
async function whyNotInOrder(connections: Pool): Promise<string | undefined> {
  const isFree = async () => {
    const { rows } = await connections.query(`SELECT pg_try_advisory_xact_lock(${ORDER_LOCK}) AS free`)
    return rows[0].free === true
  }
  const writer = await connections.connect()
  // A connection that breaks fails the statement; without a listener it would end the process as well.
  writer.on('error', () => {})
  try {
    await writer.query('BEGIN')
    await writer.query(INSERT_NOTHING)
    if (!(await isFree())) return undefined
    return 'does not keep plants in order, since its advisory locks or triggers have no effect: use PostgreSQL itself'
  } catch (error) {
    // Another transaction has the lock, and kept this one out.
    if (sqlState(error) === LOCK_TIMEOUT && !(await isFree())) return undefined
    throw error
  } finally {
    // Closes the connection, and so ends the transaction.
    writer.release(true)
  }
}

/**
 * Rejects a new connection to a server that only follows the primary: it would return old data, and during a failover
 * the same address leads to one server after the other. Rejects one that loses commits, too: a new default of
 * `synchronous_commit` applies only to new connections.
 *
 * @param timeout how long the server may take to respond, in milliseconds
 * @throws {DatabaseError} if it loses commits
 */
export async function rejectUnsuitable(client: ClientBase, database: string, timeout: number): Promise<void> {
  const query = { text: SELECT_SUITABILITY, rowMode: 'array' as const, query_timeout: timeout }
  const { rows } = await client.query<[isStandby: boolean, losesCommits: boolean]>(query)
  const [isStandby, losesCommits] = rows[0] ?? []
  if (isStandby) throw standbyError()
  if (losesCommits) throw new DatabaseError(`${database} ${describeLoss('synchronous_commit')}`)
}

/** Creates the error of a read on a standby, with the code of a write on one. */
export function standbyError(): Error {
  return Object.assign(new Error('The server is a standby'), { code: READ_ONLY, severity: 'FATAL' })
}

/** Explains what a setting that is off breaks, and how to fix it. */
function describeLoss(setting: string): string {
  return `has ${setting} = off, so that a power failure loses plants that were acknowledged: set it to on`
}

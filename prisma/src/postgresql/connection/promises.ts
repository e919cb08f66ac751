import type { SqlQueryable } from '@prisma/driver-adapter-utils'
import { DatabaseError } from '../../database-error.ts'
import { select } from '../../sql.ts'
import { sqlState } from './errors.ts'
import type { Pool } from './pool.ts'

/** The oldest major version that PostgreSQL itself still maintains. */
const MIN_MAJOR_VERSION = 14

/** The lock that the migrations' trigger takes, so that plants become visible in the order of their numbers. */
const ORDER_LOCK = '482854661748'
const TRIGGERS = ['Plant_deleted', 'Plant_order', 'Plant_truncated', 'Plant_updated_from', 'Plant_updated_to']

/** A statement that fails where plants cannot be inserted, and changes nothing. It takes the lock on their order. */
export const INSERT_NOTHING = `INSERT INTO "Plant" ("account", "id", "name") SELECT '', '', '' WHERE false`

const SELECT_SETTINGS = `
  SELECT
    current_setting('fsync') AS fsync,
    current_setting('full_page_writes') AS full_page_writes,
    current_setting('synchronous_commit') AS synchronous_commit,
    current_setting('transaction_isolation') AS transaction_isolation,
    current_setting('server_encoding') AS server_encoding,
    current_setting('server_version') AS server_version`

const SELECT_SCHEMA = `
  SELECT
    (SELECT string_agg(tgname, ' ') FROM pg_trigger
     WHERE tgrelid = '"Plant"'::regclass AND NOT tgisinternal AND tgenabled IN ('O', 'A')) AS triggers,
    (SELECT seqcache = 1 AND seqincrement = 1 FROM pg_sequence
     WHERE seqrelid = pg_get_serial_sequence('"Plant"', 'seq')::regclass) AS in_order`

/**
 * Checks that a database keeps what the plant store promises: what is committed survives a power failure, texts are stored
 * as they are, and plants become visible in the order of their numbers.
 *
 * @param database names it in messages
 * @throws {DatabaseError} if a setting or the schema breaks a promise
 */
export async function checkPromises(pool: Pool, database: string): Promise<void> {
  const reason =
    (await whyNotDurable(pool.adapter)) ??
    (await whyUnsuitable(pool.adapter)) ??
    (await whyNotComplete(pool.adapter)) ??
    (await whyNotInOrder(pool))
  if (reason !== undefined) throw new DatabaseError(`${database} ${reason}`)
}

/** Explains which setting loses commits in a power failure; undefined: none. Settings may change at any time. */
export async function whyNotDurable(connection: SqlQueryable): Promise<string | undefined> {
  const settings = await readSettings(connection)
  const off = ['fsync', 'full_page_writes', 'synchronous_commit'].find((name) => settings[name] === 'off')
  return off && `has ${off} = off, so that a power failure loses plants that were acknowledged: set it to on`
}

async function whyUnsuitable(connection: SqlQueryable): Promise<string | undefined> {
  const settings = await readSettings(connection)
  if (settings['server_encoding'] !== 'UTF8') {
    return `has the encoding ${settings['server_encoding']}, which lacks characters: create one with UTF8`
  }
  if (settings['transaction_isolation'] !== 'read committed') {
    return `has default_transaction_isolation = ${settings['transaction_isolation']}: set it to read committed`
  }
  const version = String(settings['server_version'])
  if (Number.parseInt(version, 10) >= MIN_MAJOR_VERSION) return undefined
  return `runs PostgreSQL ${version}: upgrade to ${MIN_MAJOR_VERSION} or newer`
}

async function whyNotComplete(connection: SqlQueryable): Promise<string | undefined> {
  const [schema] = await select(connection, SELECT_SCHEMA)
  const present = String(schema?.['triggers']).split(' ')
  const missing = TRIGGERS.find((name) => !present.includes(name))
  if (missing) {
    return `lacks the trigger "${missing}" on "Plant", or it is disabled: run ALTER TABLE "Plant" ENABLE TRIGGER ALL, or restore a backup`
  }
  if (schema?.['in_order'] !== true) {
    return 'does not number plants one after the other: run ALTER SEQUENCE "Plant_seq_seq" INCREMENT 1 CACHE 1'
  }
  return undefined
}

/**
 * Tries whether a transaction that inserts keeps others out. In engines that only speak PostgreSQL's protocol, advisory
 * locks or triggers may do nothing.
 */
async function whyNotInOrder({ connections }: Pool): Promise<string | undefined> {
  const writer = await connections.connect()
  try {
    await writer.query('BEGIN')
    await writer.query(INSERT_NOTHING)
    const { rows } = await connections.query(`SELECT pg_try_advisory_xact_lock(${ORDER_LOCK}) AS free`)
    if (rows[0].free === false) return undefined
    return 'does not keep plants in order, since its advisory locks or triggers have no effect: use PostgreSQL itself'
  } catch (error) {
    // Another transaction has the lock, and kept this one out.
    if (sqlState(error) === '55P03') return undefined
    throw error
  } finally {
    // Closes the connection, and so ends the transaction.
    writer.release(true)
  }
}

function readSettings(connection: SqlQueryable): Promise<Record<string, unknown>> {
  return select(connection, SELECT_SETTINGS).then(([settings]) => settings ?? {})
}

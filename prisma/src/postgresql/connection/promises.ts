import { setTimeout as sleep } from 'node:timers/promises'
import type { Pool } from 'pg'
import type { Database } from '../../database.ts'
import { DatabaseError } from '../../database-error.ts'
import { REQUEST_PATIENCE, retryWhile } from '../../shared/retry.ts'
import { isTemporary, sqlState, toDatabaseError, toTemporaryFailure } from './errors.ts'

/**
 * A condition of every read: only the primary has all that was acknowledged, and a pooler may lead any statement to a
 * standby. A cast that fails is how plain SQL raises an error with a text of its own.
 */
export const ON_PRIMARY = `(SELECT CASE WHEN pg_is_in_recovery() THEN 'The server is a standby' ELSE 'true' END::boolean)`

/** The first setting that loses commits, such as `fsync = off`; otherwise the value of `synchronous_commit`. */
const DURABILITY = `
  CASE 'off'
    WHEN current_setting('fsync') THEN 'fsync = off'
    WHEN current_setting('full_page_writes') THEN 'full_page_writes = off'
    WHEN current_setting('synchronous_commit') THEN 'synchronous_commit = off'
    ELSE current_setting('synchronous_commit')
  END`
/**
 * Fails where commits are lost. The name of a setting that is off is not a value of `synchronous_commit`, so the error has
 * it. Otherwise the value stays until the commit, before which PostgreSQL would apply another one.
 */
const KEEPS_COMMITS = `(SELECT set_config('synchronous_commit', ${DURABILITY}, true)) <> ''`
/**
 * A condition of every write, whatever connection a pooler gives it: what commits survives a power failure. So does what a
 * write finds stored already, whoever stored it: the commit of a message waits for all of the log before it.
 */
export const DURABLY = `${KEEPS_COMMITS} AND (SELECT pg_logical_emit_message(true, 'plant-store', '')) IS NOT NULL`

/** The lock that the migrations' trigger takes, so that plants become visible in the order of their numbers. */
const ORDER_LOCK = '482854661748'
const TRIGGERS = ['Plant_deleted', 'Plant_order', 'Plant_truncated', 'Plant_updated_from', 'Plant_updated_to']

/**
 * Statements that fail if a request would, and change nothing: where a table or column is locked, missing or not allowed.
 * The first one takes the lock on the order of plants.
 */
const CHANGE_NOTHING = `
  INSERT INTO "Plant" ("account", "id", "name", "tag")
  SELECT "plant"."account", "plant"."id", "plant"."name", "plant"."tag"
  FROM "Plant" AS "plant", "Token" AS "token", "Edits" AS "edits", "Secret" AS "secret"
  WHERE false AND ROW("plant"."seq", "token"."id", "token"."hash", "token"."account", "token"."scopes", "token"."label",
    "token"."createdAt", "token"."expiresAt", "token"."revokedAt", "edits"."account", "edits"."count", "secret"."name",
    "secret"."value") IS NULL
  ON CONFLICT ("account", "id") DO NOTHING;
  INSERT INTO "Token" SELECT * FROM "Token" WHERE false;
  UPDATE "Token" SET "revokedAt" = NULL WHERE false;
  INSERT INTO "Secret" SELECT * FROM "Secret" WHERE false`

/** The same for operations that change or delete plants. */
const EDIT_NOTHING = `
  UPDATE "Plant" SET "name" = '', "tag" = NULL WHERE false;
  DELETE FROM "Plant" WHERE false`

/** One transaction, also through a pooler, which has no time limits of a session. PostgreSQL shows the halves of the lock. */
const changeInOrder = (editsPlants: boolean) => `
  SET LOCAL lock_timeout = '2s';
  ${CHANGE_NOTHING};
  ${editsPlants ? `${EDIT_NOTHING};` : ''}
  SELECT FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 1 AND granted AND pid = pg_backend_pid()
    AND (classid::bigint << 32) + objid::bigint = ${ORDER_LOCK}`

/** Inserts a plant that takes a quarter of a page, and undoes it: only a real write shows that there is room again. */
const INSERT_AND_UNDO = `
  BEGIN; INSERT INTO "Plant" ("account", "id", "name") VALUES ('', '', repeat('x', 1900)); ROLLBACK`

/**
 * Explains which transaction keeps others waiting. A role may see its times only with the rights of `pg_read_all_stats`. One
 * that waits for a standby has plants that the standby does not have, which ending it would make visible.
 */
const SELECT_BLOCKER = `
  SELECT CASE WHEN wait_event = 'SyncRep'
    THEN 'A commit waits for the synchronous standby: start it, or correct synchronous_standby_names.'
    ELSE format('A transaction%s blocks requests: end it, or run SELECT pg_terminate_backend(%s), which is "%s".',
      ' that has been open for ' || extract(epoch FROM clock_timestamp() - xact_start)::int || ' s', pid, application_name)
    END AS sentence
  FROM pg_stat_activity
  WHERE cardinality(pg_blocking_pids(pid)) = 0 AND pid IN (
    SELECT unnest(pg_blocking_pids(pid)) FROM pg_locks JOIN pg_stat_activity USING (pid)
    WHERE datname = current_database() AND waitstart < clock_timestamp() - interval '500 ms')
  LIMIT 1`

/** What has to be: an expression of SQL, its value, and what to say otherwise, where `$` is what it is. */
type Promises = readonly (readonly [sql: string, expected: RegExp, sentence: string])[]

/** Those of a server. */
export const SERVER: Promises = [
  [KEEPS_COMMITS, /^true$/, ''],
  // The oldest version that PostgreSQL itself still maintains.
  [`current_setting('server_version')`, /^(1[4-9]|[2-9]\d)/, 'runs PostgreSQL $: upgrade to 14 or newer'],
]
const SETTINGS: Promises = [
  ...SERVER,
  [`current_setting('server_encoding')`, /^UTF8$/, 'has the encoding $, which lacks characters: create one with UTF8'],
  [
    `current_setting('transaction_isolation')`,
    /^read committed$/,
    'has default_transaction_isolation = $: set it to read committed',
  ],
]
const PROMISES: Promises = [
  ...SETTINGS,
  [
    `(SELECT min(name) FROM unnest('{${TRIGGERS}}'::text[]) AS name WHERE NOT EXISTS (SELECT FROM pg_trigger
      WHERE tgrelid = '"Plant"'::regclass AND tgname = name AND NOT tgisinternal AND tgenabled IN ('O', 'A')))`,
    /^null$/,
    'lacks the trigger "$" on "Plant", or it is disabled: run ALTER TABLE "Plant" ENABLE TRIGGER ALL, or restore a backup',
  ],
  [
    `(SELECT min(relname) FROM pg_class WHERE relpersistence <> 'p'
      AND oid IN (SELECT quote_ident(name)::regclass FROM unnest('{Plant,Token,Secret,Edits}'::text[]) AS name))`,
    /^null$/,
    'has the unlogged table "$", which a crash empties: run ALTER TABLE "$" SET LOGGED',
  ],
  [
    `(SELECT seqcache = 1 AND seqincrement = 1 FROM pg_sequence
      WHERE seqrelid = pg_get_serial_sequence('"Plant"', 'seq')::regclass)`,
    /^true$/,
    'does not number plants one after the other: run ALTER SEQUENCE "Plant_seq_seq" INCREMENT 1 CACHE 1',
  ],
]

/** SQLSTATE lock_not_available. */
const LOCK_TIMEOUT = '55P03'

/** After how long a probe asks what blocks it, how long that may take, and the probe in all, in milliseconds. */
const [BLOCKED, BLOCKER_TIMEOUT, PROBE_TIMEOUT] = [1_500, 500, 2_500]

/** Checks, as {@link checkPromises}, a database that has no tables yet; or a server, where it is to be created. */
export async function checkSettings(connections: Pool, database: string, promises = SETTINGS): Promise<void> {
  reject(database, await whyNotKept(connections, promises))
}

/**
 * Checks that a database keeps what the plant store promises: what is committed survives a power failure, texts are stored
 * as they are, plants become visible in the order of their numbers, and this user may do what requests need.
 *
 * @param database names it in messages
 * @param editsPlants whether requests change or delete plants
 * @throws {DatabaseError} if a setting or the schema breaks a promise; the engine's error if commits would be lost, or a
 *   right or a table is missing
 */
export async function checkPromises(connections: Pool, database: string, editsPlants: boolean): Promise<void> {
  reject(database, (await whyNotKept(connections)) ?? (await whyNotInOrder(connections, editsPlants).catch(ignoreLock)))
}

function reject(database: string, reason: string | undefined): void {
  if (reason !== undefined) throw new DatabaseError(`${database} ${reason}`)
}

/** Another transaction has the lock, and kept this one out. */
function ignoreLock(error: unknown): undefined {
  if (sqlState(error) !== LOCK_TIMEOUT) throw error
}

/** Explains which setting or part of the schema breaks a promise; undefined: none. Both may change at any time. */
async function whyNotKept(connections: Pool, promises = PROMISES): Promise<string | undefined> {
  const text = `SELECT ${promises.map(([sql], index) => `${sql} AS "${index}"`)}`
  const { rows } = await connections.query({ text, rowMode: 'array' })
  const values: string[] = rows[0]?.map(String) ?? []
  const index = promises.findIndex(([, expected], position) => !expected.test(values[position] ?? ''))
  return promises[index]?.[2].replaceAll('$', () => values[index] ?? '')
}

/**
 * Explains why plants are not in order: engines that only speak PostgreSQL's protocol may lack its locks or triggers.
 *
 * @param editsPlants whether requests change or delete plants
 * @throws the engine's error where what the migrations created is locked, missing or not allowed
 */
export async function whyNotInOrder(connections: Pool, editsPlants: boolean): Promise<string | undefined> {
  const results = (await connections.query(changeInOrder(editsPlants))) as unknown as { rowCount: number }[]
  if (results.at(-1)?.rowCount === 1) return undefined
  return 'does not keep plants in order, since its advisory locks or triggers have no effect: use PostgreSQL itself'
}

/**
 * Creates what knows whether requests would succeed now. The probe takes the lock on the order of plants, so it fails where
 * another transaction keeps it, and where the server is a standby. It retries as a request does, unless the last one failed:
 * then only that the database is available again is news. A full disk shows only in a real write, which is tried after a
 * request has failed for it.
 */
export function createReadiness(connections: Pool, editsPlants: boolean): Pick<Database, 'failure' | 'whyUnavailable'> {
  let hadNoRoom = false
  let wasAvailable = true

  async function probe(): Promise<string | undefined> {
    const reason = (await whyNotKept(connections)) ?? (await whyNotInOrder(connections, editsPlants))
    if (reason !== undefined) return `The database ${reason}.`
    if (hadNoRoom) await connections.query(INSERT_AND_UNDO)
    hadNoRoom = false
    return undefined
  }

  return {
    failure(error) {
      const failure = toTemporaryFailure(error)
      hadNoRoom ||= failure?.fault === 'disk-full' || failure?.fault === 'io-error'
      return failure
    },

    async whyUnavailable() {
      const explain = (error: unknown) => `${toDatabaseError(error, 'the database').message.replace(/^t/, 'T')}.`
      const silence = sleep(PROBE_TIMEOUT, explain(new Error('Query read timeout')), { ref: false })
      const patience = wasAvailable ? REQUEST_PATIENCE : 0
      const probing = retryWhile(isTemporary, probe, { patience }).catch(explain)
      const isSlow = await Promise.race([probing.then(() => false), sleep(BLOCKED, true, { ref: false })])
      const reason = (isSlow && (await describeBlocker(connections))) || (await Promise.race([probing, silence]))
      wasAvailable = reason === undefined
      return reason
    },
  }
}

/** Names the transaction that blocks requests; undefined: none does, or the server does not say. */
async function describeBlocker(connections: Pool): Promise<string | undefined> {
  const asking = connections.query<{ sentence: string }>(SELECT_BLOCKER).catch(() => undefined)
  const result = await Promise.race([asking, sleep(BLOCKER_TIMEOUT, undefined, { ref: false })])
  return result?.rows[0]?.sentence
}

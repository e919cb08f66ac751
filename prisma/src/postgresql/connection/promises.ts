import { setTimeout as sleep } from 'node:timers/promises'
import type { ClientBase, Pool } from 'pg'
import type { Database } from '../../database.ts'
import { DatabaseError } from '../../database-error.ts'
import { sqlState, toDatabaseError, toTemporaryFailure } from './errors.ts'

/** The lock that the migrations' trigger takes, so that plants become visible in the order of their numbers. */
const ORDER_LOCK = '482854661748'
const TRIGGERS = ['Plant_deleted', 'Plant_order', 'Plant_truncated', 'Plant_updated_from', 'Plant_updated_to']

/**
 * A statement that fails if a request would, and changes nothing: where a table or column is locked, missing or not allowed.
 * It takes the lock on the order of plants.
 */
const INSERT_NOTHING = `
  INSERT INTO "Plant" ("account", "id", "name", "tag")
  SELECT "plant"."account", "plant"."id", "plant"."name", "plant"."tag"
  FROM "Plant" AS "plant", "Token" AS "token", "Edits" AS "edits", "Secret" AS "secret"
  WHERE false AND ROW("plant"."seq", "token"."id", "token"."hash", "token"."account", "token"."scopes", "token"."label",
    "token"."createdAt", "token"."expiresAt", "token"."revokedAt", "edits"."account", "edits"."count", "secret"."name",
    "secret"."value") IS NULL`

/** One transaction, also through a pooler, which has no time limits of a session. PostgreSQL shows the halves of the lock. */
const INSERT_IN_ORDER = `
  SET LOCAL lock_timeout = '2s';
  ${INSERT_NOTHING};
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

/** Follows a setting that is off. */
const LOSES_COMMITS = 'so that a power failure loses plants that were acknowledged: set it to on'

/** What has to be: an expression of SQL, its value, and what to say otherwise, where `$` is what it is. */
const PROMISES: readonly (readonly [sql: string, expected: RegExp, sentence: string])[] = [
  ...['fsync', 'full_page_writes', 'synchronous_commit'].map(
    (name) => [`current_setting('${name}')`, /^(?!off)/, `has ${name} = off, ${LOSES_COMMITS}`] as const,
  ),
  [`current_setting('server_encoding')`, /^UTF8$/, 'has the encoding $, which lacks characters: create one with UTF8'],
  [
    `current_setting('transaction_isolation')`,
    /^read committed$/,
    'has default_transaction_isolation = $: set it to read committed',
  ],
  // The oldest version that PostgreSQL itself still maintains.
  [`current_setting('server_version')`, /^(1[4-9]|[2-9]\d)/, 'runs PostgreSQL $: upgrade to 14 or newer'],
  [
    `(SELECT min(name) FROM unnest('{${TRIGGERS}}'::text[]) AS name WHERE NOT EXISTS (SELECT FROM pg_trigger
      WHERE tgrelid = '"Plant"'::regclass AND tgname = name AND NOT tgisinternal AND tgenabled IN ('O', 'A')))`,
    /^null$/,
    'lacks the trigger "$" on "Plant", or it is disabled: run ALTER TABLE "Plant" ENABLE TRIGGER ALL, or restore a backup',
  ],
  [
    `(SELECT seqcache = 1 AND seqincrement = 1 FROM pg_sequence
      WHERE seqrelid = pg_get_serial_sequence('"Plant"', 'seq')::regclass)`,
    /^true$/,
    'does not number plants one after the other: run ALTER SEQUENCE "Plant_seq_seq" INCREMENT 1 CACHE 1',
  ],
]
const SELECT_PROMISES = `SELECT ${PROMISES.map(([sql], index) => `${sql} AS "${index}"`)}`
const SELECT_SUITABILITY = `SELECT pg_is_in_recovery(), current_setting('synchronous_commit') = 'off'`

/** SQLSTATEs lock_not_available and read_only_sql_transaction. */
const [LOCK_TIMEOUT, READ_ONLY] = ['55P03', '25006']

/** After how long a probe asks what blocks it, how long that may take, and the probe in all, in milliseconds. */
const [BLOCKED, BLOCKER_TIMEOUT, PROBE_TIMEOUT] = [1_500, 500, 2_500]

/**
 * Checks that a database keeps what the plant store promises: what is committed survives a power failure, texts are stored
 * as they are, and plants become visible in the order of their numbers.
 *
 * @param database names it in messages
 * @throws {DatabaseError} if a setting or the schema breaks a promise
 */
export async function checkPromises(connections: Pool, database: string): Promise<void> {
  const reason = (await whyNotKept(connections)) ?? (await whyNotInOrder(connections).catch(ignoreLock))
  if (reason !== undefined) throw new DatabaseError(`${database} ${reason}`)
}

/** Another transaction has the lock, and kept this one out. */
function ignoreLock(error: unknown): undefined {
  if (sqlState(error) !== LOCK_TIMEOUT) throw error
}

/** Explains which setting or part of the schema breaks a promise; undefined: none. Both may change at any time. */
async function whyNotKept(connections: Pool): Promise<string | undefined> {
  const { rows } = await connections.query({ text: SELECT_PROMISES, rowMode: 'array' })
  const values: string[] = rows[0]?.map(String) ?? []
  const index = PROMISES.findIndex(([, expected], position) => !expected.test(values[position] ?? ''))
  return PROMISES[index]?.[2].replace('$', () => values[index] ?? '')
}

/** Explains why plants are not in order: engines that only speak PostgreSQL's protocol may lack its locks or triggers. */
async function whyNotInOrder(connections: Pool): Promise<string | undefined> {
  const results = (await connections.query(INSERT_IN_ORDER)) as unknown as { rowCount: number }[]
  if (results.at(-1)?.rowCount === 1) return undefined
  return 'does not keep plants in order, since its advisory locks or triggers have no effect: use PostgreSQL itself'
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
  if (losesCommits) throw new DatabaseError(`${database} has synchronous_commit = off, ${LOSES_COMMITS}`)
}

/** Creates the error of a read on a standby, with the code of a write on one. */
export function standbyError(): Error {
  return Object.assign(new Error('The server is a standby'), { code: READ_ONLY, severity: 'FATAL' })
}

/**
 * Creates what knows whether requests would succeed now. The probe takes the lock on the order of plants, so it fails where
 * another transaction keeps it, and where the server is a standby. A full disk shows only in a real write, which is tried
 * after a request has failed for it.
 */
export function createReadiness(connections: Pool): Pick<Database, 'failure' | 'whyUnavailable'> {
  let hadNoRoom = false

  async function probe(): Promise<string | undefined> {
    const reason = (await whyNotKept(connections)) ?? (await whyNotInOrder(connections))
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
      const probing = probe().catch(explain)
      const isSlow = await Promise.race([probing.then(() => false), sleep(BLOCKED, true, { ref: false })])
      return (isSlow && (await describeBlocker(connections))) || Promise.race([probing, silence])
    },
  }
}

/** Names the transaction that blocks requests; undefined: none does, or the server does not say. */
async function describeBlocker(connections: Pool): Promise<string | undefined> {
  const asking = connections.query<{ sentence: string }>(SELECT_BLOCKER).catch(() => undefined)
  const result = await Promise.race([asking, sleep(BLOCKER_TIMEOUT, undefined, { ref: false })])
  return result?.rows[0]?.sentence
}

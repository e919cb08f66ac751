import type { Pool } from 'pg'
import { DatabaseError } from '../../database-error.ts'
import { sqlState } from './errors.ts'

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

/** Expressions of SQL, the value that each must have, and what is wrong where its value is another, `$`. */
type Conditions = readonly (readonly [sql: string, expected: RegExp, sentence: string])[]

/** Of a server, without any database. */
export const SERVER: Conditions = [
  [KEEPS_COMMITS, /^true$/, ''],
  // The oldest version that PostgreSQL itself still maintains.
  [`current_setting('server_version')`, /^(1[4-9]|[2-9]\d)/, 'runs PostgreSQL $: upgrade to 14 or newer'],
]
const SETTINGS: Conditions = [
  ...SERVER,
  [`current_setting('server_encoding')`, /^UTF8$/, 'has the encoding $, which lacks characters: create one with UTF8'],
  [
    `current_setting('transaction_isolation')`,
    /^read committed$/,
    'has default_transaction_isolation = $: set it to read committed',
  ],
]
const PROMISES: Conditions = [
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

/** Checks, as {@link checkPromises}, a database that has no tables yet; or a server, where it is to be created. */
export async function checkSettings(pool: Pool, database: string, conditions = SETTINGS): Promise<void> {
  reject(database, await whyNotKept(pool, conditions))
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
export async function checkPromises(pool: Pool, database: string, editsPlants: boolean): Promise<void> {
  reject(database, (await whyNotKept(pool)) ?? (await whyNotInOrder(pool, editsPlants).catch(ignoreLock)))
}

function reject(database: string, reason: string | undefined): void {
  if (reason !== undefined) throw new DatabaseError(`${database} ${reason}`)
}

/** Ignores that another transaction has the lock on the order of plants, which a busy database may. */
function ignoreLock(error: unknown): undefined {
  if (sqlState(error) !== LOCK_TIMEOUT) throw error
}

/** Explains which setting or part of the schema breaks a promise; undefined: none. Both may change at any time. */
export async function whyNotKept(pool: Pool, conditions = PROMISES): Promise<string | undefined> {
  const text = `SELECT ${conditions.map(([sql], index) => `${sql} AS "${index}"`)}`
  const { rows } = await pool.query({ text, rowMode: 'array' })
  const values: string[] = rows[0]?.map(String) ?? []
  const index = conditions.findIndex(([, expected], position) => !expected.test(values[position] ?? ''))
  return conditions[index]?.[2].replaceAll('$', () => values[index] ?? '')
}

/**
 * Explains why plants are not in order: engines that only speak PostgreSQL's protocol may lack its locks or triggers.
 *
 * @param editsPlants whether requests change or delete plants
 * @throws the engine's error where what the migrations created is locked, missing or not allowed
 */
export async function whyNotInOrder(pool: Pool, editsPlants: boolean): Promise<string | undefined> {
  const results = (await pool.query(changeInOrder(editsPlants))) as unknown as { rowCount: number }[]
  if (results.at(-1)?.rowCount === 1) return undefined
  return 'does not keep plants in order, since its advisory locks or triggers have no effect: use PostgreSQL itself'
}

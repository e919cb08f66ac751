import { type Session, StorageError } from '../engine.ts'
import { TIMES } from '../patience.ts'
import { plantRights } from '../plants.ts'
import { DURABLY, ON_PRIMARY } from './statements.ts'

/** The lock that the migrations' trigger takes, so that plants become visible in the order of their numbers. */
const ORDER_LOCK = '482854661748'

/**
 * Fails unless this transaction has the lock on the order of plants, and numbers are taken one by one: with a cache,
 * each session takes some in advance. PostgreSQL shows the two halves of the lock. Engines that only speak PostgreSQL's
 * protocol may lack its locks or triggers.
 */
const IN_ORDER = `
  SELECT CASE WHEN EXISTS (
    SELECT FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 1 AND granted AND pid = pg_backend_pid()
      AND (classid::bigint << 32) + objid::bigint = ${ORDER_LOCK}
  ) AND EXISTS (
    SELECT FROM pg_sequence WHERE seqrelid = pg_get_serial_sequence('"Plant"', 'seq')::regclass AND seqcache = 1
  ) THEN 'true' ELSE 'Plants have no order' END::boolean`

/** Statements that need a right, and change nothing. */
const USES = {
  UPDATE: 'UPDATE "Plant" SET "name" = "name" WHERE false',
  DELETE: 'DELETE FROM "Plant" WHERE false',
}

/**
 * Reads the tables; if it `writes`, inserts a plant of a quarter of a page as requests do, and undoes that. It fails
 * where a right, a table or room is missing, where row level security hides rows, where commits are lost, and where
 * another transaction has the lock. The plant is one of an account that has no name.
 */
const checkOf = (writes: boolean) => `
  BEGIN ISOLATION LEVEL READ COMMITTED;
  SET LOCAL lock_timeout = ${TIMES.request};
  SELECT WHERE ${ON_PRIMARY} AND ${DURABLY};
  SET LOCAL row_security = off;
  SELECT FROM "Plant", "Token", "Secret", "ListVersion" WHERE false;
  ${plantRights.map((right) => USES[right]).join('; ')};
  INSERT INTO "Plant" ("account", "id", "name", "tag", "createdAt")
  SELECT '', '', repeat('x', 1900), NULL, now() WHERE ${DURABLY} AND ${writes} ON CONFLICT ("account", "id") DO NOTHING;
  ${IN_ORDER};
  ROLLBACK`

const SELECT_SETTINGS = `
  SELECT current_setting('server_version'), current_setting('server_encoding'), current_setting('transaction_isolation')`

/**
 * Checks the server's version, and settings that cannot be a condition of each statement: they may change at any time.
 *
 * @param subject names the database in messages
 * @throws {StorageError} if one of them breaks a promise
 */
export async function checkServer(session: Session, subject: string): Promise<void> {
  const [[version, encoding, isolation] = []] = await session.query(SELECT_SETTINGS)
  const reject = (reason: string) => {
    throw new StorageError(`${subject} ${reason}`)
  }
  // Older versions are not tested.
  if (!/^(1[4-9]|[2-9]\d)/.test(String(version))) reject(`runs PostgreSQL ${version}: upgrade to 14 or newer`)
  if (encoding !== 'UTF8') reject(`has the encoding ${encoding}, which lacks characters: create one with UTF8`)
  if (isolation !== 'read committed') {
    reject(`has default_transaction_isolation = ${isolation}: set it to read committed`)
  }
}

/**
 * Checks that a database guarantees what the plant store promises: what is committed survives a power failure, texts
 * are stored as they are, plants become visible in the order of their numbers, and this user may do what requests need.
 *
 * @param subject names the database in messages
 * @param writes whether a plant is written and undone, which needs room; otherwise nothing is
 * @throws {StorageError} if a setting or the schema breaks a promise, a right or a table is missing, or one is locked
 */
export async function checkGuarantees(session: Session, subject: string, writes: boolean): Promise<void> {
  await checkServer(session, subject)
  await session.query(checkOf(writes))
}

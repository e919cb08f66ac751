import { type Connection, StorageError } from '../engine.ts'
import { plantRights } from '../plants.ts'
import { DURABLY, ON_PRIMARY, SCHEMA } from './statements.ts'

/** The lock that the migrations' trigger takes, so that plants become visible in the order of their numbers. */
const ORDER_LOCK = '482854661748'

/**
 * Fails unless this transaction has the lock on the order of plants, and numbers are taken one by one: with a cache,
 * each session takes some in advance. PostgreSQL shows the two halves of the lock. Engines that only speak PostgreSQL's
 * protocol may lack its locks or triggers.
 */
const IN_ORDER = `
  SELECT CASE WHEN NOT EXISTS (
    SELECT FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 1 AND granted AND pid = pg_backend_pid()
      AND (classid::bigint << 32) + objid::bigint = ${ORDER_LOCK}
  ) THEN 'Plants have no order' WHEN EXISTS (
    SELECT FROM pg_sequence WHERE seqrelid = pg_get_serial_sequence('"Plant"', 'seq')::regclass AND seqcache > 1
  ) THEN 'Numbers are taken in advance' ELSE 'true' END::boolean`

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
const proof = (writes: boolean) => `
  BEGIN ISOLATION LEVEL READ COMMITTED;
  SET LOCAL lock_timeout = '2s';
  SELECT WHERE ${ON_PRIMARY} AND ${DURABLY};
  SET LOCAL row_security = off;
  SELECT FROM "Plant", "Token", "Secret", "ListVersion" WHERE false;
  ${plantRights.map((right) => USES[right]).join('; ')};
  INSERT INTO "Plant" ("account", "id", "name", "tag", "createdAt")
  SELECT '', '', repeat('x', 1900), NULL, now() WHERE ${DURABLY} AND ${writes} ON CONFLICT ("account", "id") DO NOTHING;
  ${IN_ORDER};
  ROLLBACK`

const SELECT_SETTINGS = `
  SELECT current_setting('server_version') AS version, current_setting('server_encoding') AS encoding,
    current_setting('transaction_isolation') AS isolation`

/**
 * Checks the server's version, and settings that cannot be a condition of each statement: they may change at any time.
 *
 * @param subject names the database in messages
 * @throws {StorageError} if one of them breaks a promise
 */
export async function checkServer(connection: Connection, subject: string): Promise<void> {
  const [{ version, encoding, isolation } = {}] = await connection.query(SELECT_SETTINGS)
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
export async function proveGuarantees(connection: Connection, subject: string, writes: boolean): Promise<void> {
  await checkServer(connection, subject)
  await connection.executeScript(proof(writes))
}

/** What a role may do with a table, its sequences or the functions of its triggers. */
interface Grant {
  readonly kind: 'TABLE' | 'SEQUENCE' | 'FUNCTION'
  /** Its name in SQL, and that of the role. */
  readonly name: string
  readonly role: string
  /** In the order of the alphabet. */
  readonly rights: string
}

/** The rights of all roles but the owners of what has a name like this. */
const SELECT_GRANTS = `
  SELECT kind, name, CASE grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(grantee)) END AS role,
    string_agg(DISTINCT privilege_type, ', ' ORDER BY privilege_type) AS rights
  FROM (
    SELECT CASE relkind WHEN 'S' THEN 'SEQUENCE' ELSE 'TABLE' END, oid::regclass::text, relname, relnamespace, relowner, relacl
    FROM pg_class
    UNION ALL
    SELECT 'FUNCTION', oid::regprocedure::text, proname, pronamespace, proowner, coalesce(proacl, acldefault('f', proowner))
    FROM pg_proc
  ) AS objects (kind, name, identifier, namespace, owner, rights), aclexplode(rights)
  WHERE identifier ~ $1 AND grantee <> owner
    AND namespace = ${SCHEMA}
  GROUP BY kind, name, grantee`

/** What rights.sql grants, which default privileges never do: they are the same for all tables. */
const RIGHTS_OF_SERVERS = ['"Token" INSERT, SELECT, UPDATE', '"Secret" INSERT, SELECT']

/**
 * Takes from other roles what they may do with these tables, such as what default privileges have granted, except from
 * those of rights.sql. A provider may let everybody with a public key be such a role.
 */
export async function revokeRights(connection: Connection, tables: readonly string[]): Promise<void> {
  const grants = await connection.query<Grant>(SELECT_GRANTS, `^(${tables.join('|')})(_|$)`)
  const all = new Set(grants.map(({ role, name, rights }) => `${role} ${name} ${rights}`))
  const statements = grants
    .filter(({ role }) => !RIGHTS_OF_SERVERS.every((rights) => all.has(`${role} ${rights}`)))
    .map(({ kind, name, role }) => `REVOKE ALL ON ${kind} ${name} FROM ${role} CASCADE`)
  if (statements.length > 0) await connection.executeScript(statements.join('; '))
}

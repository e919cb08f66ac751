import { type Connection, StorageError, select } from '../engine.ts'

/**
 * A condition of every read: only the primary has all that was acknowledged, and a pooler may lead any statement to a
 * standby. A cast that fails is how plain SQL raises an error with a text of its own.
 */
export const ON_PRIMARY = `(SELECT CASE WHEN pg_is_in_recovery() THEN 'The server is a standby' ELSE 'true' END::boolean)`
/**
 * A condition after which a transaction has what the driver's adapter presumes of its session: it writes times without an offset
 * and removes the one that it reads. A database or a role may bring other settings, and a pooler passes none on.
 */
export const IN_UTC = `
  (SELECT set_config('TimeZone', 'UTC', true) || set_config('DateStyle', 'ISO', true)
    || set_config('extra_float_digits', '1', true)) <> ''`

/** The first setting that loses commits, such as `fsync = off`; otherwise the value of `synchronous_commit`. */
const DURABILITY = `
  CASE 'off'
    WHEN current_setting('fsync') THEN 'fsync = off'
    WHEN current_setting('full_page_writes') THEN 'full_page_writes = off'
    WHEN current_setting('synchronous_commit') THEN 'synchronous_commit = off'
    ELSE current_setting('synchronous_commit')
  END`
/**
 * A condition of every write, whatever connection a pooler gives it: what commits survives a power failure.
 *
 * It fails where commits are lost: the name of a setting that is off is not a value of `synchronous_commit`, so the error has
 * it. Otherwise the value stays until the commit, before which PostgreSQL would apply another one. What a write finds stored
 * already survives too, whoever stored it: the commit of a message waits for all of the log before it.
 */
export const DURABLY = `
  (SELECT set_config('synchronous_commit', ${DURABILITY}, true)) <> ''
  AND (SELECT pg_logical_emit_message(true, 'plant-store', '')) IS NOT NULL`

/**
 * The schema of the tables. Another one may have come to precede it in the search path, such as one with the name of the user,
 * and only statements of SQL find them everywhere. Where there are none yet, a migration creates them in the first.
 */
export const SCHEMA = `
  coalesce((SELECT relnamespace FROM pg_class WHERE oid = to_regclass('"ListVersion"')),
    to_regnamespace(quote_ident(current_schema())))`

/** The lock that the migrations' trigger takes, so that plants become visible in the order of their numbers. */
const ORDER_LOCK = '482854661748'

/**
 * Fails unless this transaction has the lock on the order of plants, and numbers are taken one by one: with a cache, each session
 * takes some in advance. PostgreSQL shows the two halves of the lock. Engines that only speak PostgreSQL's protocol may lack its
 * locks or triggers.
 */
const IN_ORDER = `
  SELECT CASE WHEN NOT EXISTS (
    SELECT FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 1 AND granted AND pid = pg_backend_pid()
      AND (classid::bigint << 32) + objid::bigint = ${ORDER_LOCK}
  ) THEN 'Plants have no order' WHEN EXISTS (
    SELECT FROM pg_sequence WHERE seqrelid = pg_get_serial_sequence('"Plant"', 'seq')::regclass AND seqcache > 1
  ) THEN 'Numbers are taken in advance' ELSE 'true' END::boolean`

/** How to prove what a database guarantees. */
export interface Proof {
  /** Whether requests change or delete plants. */
  readonly modifiesPlants: boolean
  /** Whether a plant is written and undone, which needs room; otherwise nothing is. */
  readonly writes: boolean
}

/**
 * Reads the tables, writes a plant of a quarter of a page as requests do, and undoes it: that fails where a right, a table or
 * room is missing, where row level security hides rows, where commits are lost, and where another transaction has the lock. A
 * plant of an account that has no name.
 */
const writeAndUndo = ({ modifiesPlants, writes }: Proof) => `
  BEGIN ISOLATION LEVEL READ COMMITTED;
  SET LOCAL lock_timeout = '2s';
  SELECT WHERE ${ON_PRIMARY} AND ${DURABLY};
  SET LOCAL row_security = off;
  SELECT FROM "Plant", "Token", "Secret", "ListVersion" WHERE false;
  INSERT INTO "Plant" ("account", "id", "name", "tag", "createdAt")
  SELECT '', '', repeat('x', 1900), NULL, now() WHERE ${DURABLY} AND ${writes} ON CONFLICT ("account", "id") DO NOTHING;
  ${modifiesPlants ? `UPDATE "Plant" SET "name" = '' WHERE "account" = ''; DELETE FROM "Plant" WHERE "account" = '';` : ''}
  ${IN_ORDER};
  ROLLBACK`

const SELECT_SETTINGS = `
  SELECT current_setting('server_version') AS version, current_setting('server_encoding') AS encoding,
    current_setting('transaction_isolation') AS isolation`

/**
 * Checks settings that cannot be a condition of each statement. They may change at any time.
 *
 * @param database names it in messages
 * @throws {StorageError} if one breaks a promise
 */
export async function checkSettings(connection: Connection, database: string): Promise<void> {
  const [{ version, encoding, isolation } = {}] = await select(connection, SELECT_SETTINGS)
  const reject = (reason: string) => {
    throw new StorageError(`${database} ${reason}`)
  }
  // The oldest version that PostgreSQL itself still maintains.
  if (!/^(1[4-9]|[2-9]\d)/.test(String(version))) reject(`runs PostgreSQL ${version}: upgrade to 14 or newer`)
  if (encoding !== 'UTF8') reject(`has the encoding ${encoding}, which lacks characters: create one with UTF8`)
  if (isolation !== 'read committed') {
    reject(`has default_transaction_isolation = ${isolation}: set it to read committed`)
  }
}

/**
 * Checks that a database guarantees what the plant store promises: what is committed survives a power failure, texts are stored
 * as they are, plants become visible in the order of their numbers, and this user may do what requests need.
 *
 * @param database names it in messages
 * @throws {StorageError} if a setting or the schema breaks a promise, a right or a table is missing, or one is locked
 */
export async function proveGuarantees(connection: Connection, database: string, proof: Proof): Promise<void> {
  await checkSettings(connection, database)
  await connection.executeScript(writeAndUndo(proof))
}

/** What a role may do with a table, its sequences or the functions of its triggers. */
interface Grant {
  readonly kind: 'TABLE' | 'SEQUENCE' | 'FUNCTION'
  /** Its name in SQL, and that of the role. */
  readonly name: string
  readonly role: string
  /** In the order of the alphabet. */
  readonly rights: string
  /** Whether the role is this user's, or may do everything. */
  readonly isOwn: boolean
}

/** The rights of all roles but the owners of what has a name like this. */
const SELECT_GRANTS = `
  SELECT kind, name, CASE grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(grantee)) END AS role,
    string_agg(DISTINCT privilege_type, ', ' ORDER BY privilege_type) AS rights,
    grantee IN (SELECT oid FROM pg_roles WHERE rolname = current_user OR rolsuper
                UNION ALL SELECT roleid FROM pg_auth_members WHERE pg_get_userbyid(member) = current_user) AS "isOwn"
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
const RIGHTS_OF_SERVERS = [
  ['"Token"', 'INSERT, SELECT, UPDATE'],
  ['"Secret"', 'INSERT, SELECT'],
]

/** Selects what other roles may do with tables, except those that have the rights of rights.sql. */
async function selectGrants(connection: Connection, tables: readonly string[]): Promise<Grant[]> {
  const grants = await select<Grant>(connection, SELECT_GRANTS, `^(${tables.join('|')})(_|$)`)
  const isServer = (role: string) =>
    RIGHTS_OF_SERVERS.every(([table, rights]) =>
      grants.some((grant) => grant.role === role && grant.name === table && grant.rights === rights),
    )
  return grants.filter(({ role }) => !isServer(role))
}

/**
 * Takes from other roles what they may do with these tables, such as what default privileges have granted, except from those of
 * rights.sql. A provider may let everybody with a public key be such a role.
 */
export async function revokeRights(connection: Connection, tables: readonly string[]): Promise<void> {
  const grants = await selectGrants(connection, tables)
  const statements = grants.map(({ kind, name, role }) => `REVOKE ALL ON ${kind} ${name} FROM ${role} CASCADE`)
  if (statements.length > 0) await connection.executeScript(statements.join('; '))
}

/** Returns a sentence about the roles that may change tokens or use secrets, if there are others than the owner and this user. */
export async function describeIntruders(connection: Connection, database: string): Promise<string | undefined> {
  const grants = await selectGrants(connection, ['Token', 'Secret'])
  const isDangerous = ({ name, rights, isOwn }: Grant) => !isOwn && (name === '"Secret"' || rights !== 'SELECT')
  const roles = new Set(grants.filter(isDangerous).map(({ role }) => role))
  if (roles.size === 0) return undefined
  const list = [...roles].join(', ')
  return `${database} lets ${list} change tokens or read secrets, and so use every account: run REVOKE ALL ON "Token", "Secret" FROM ${list}`
}

import type { OnStep, Transaction } from '../engine.ts'
import type { Address } from './address.ts'
import { checkServer } from './guarantees.ts'
import { openPool } from './pool.ts'
import { SCHEMA } from './statements.ts'

/** The key of the lock of Prisma's own `migrate deploy`, so that both wait for each other. */
const LOCK = 72_707_369

/** Takes from a transaction that may take long the time limits that its role or database brings. */
const WITHOUT_LIMITS = `
  SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = 0; SET LOCAL idle_in_transaction_session_timeout = 0;
  SELECT set_config('transaction_timeout', '0', true) WHERE current_setting('server_version_num')::int >= 170000`

/** Lets a transaction create tables where the others are. */
const USE_SCHEMA = `
  SELECT set_config('search_path', quote_ident(nspname) || ', ' || current_setting('search_path'), true)
  FROM pg_namespace WHERE oid = ${SCHEMA}`

/** What this user owns in the schema, with the rights to it. */
const OBJECTS = `(
    SELECT CASE relkind WHEN 'S' THEN 'SEQUENCE' ELSE 'TABLE' END, oid, oid::regclass::text, relnamespace, relowner, relacl
    FROM pg_class
    UNION ALL
    SELECT 'ROUTINE', oid, oid::regprocedure::text, pronamespace, proowner, coalesce(proacl, acldefault('f', proowner))
    FROM pg_proc
  ) AS objects (kind, oid, name, namespace, owner, rights)
  JOIN pg_roles ON pg_roles.oid = owner AND rolname = current_user WHERE namespace = ${SCHEMA}`

const SELECT_OBJECTS = `SELECT coalesce(json_agg(kind || objects.oid), '[]')::text FROM ${OBJECTS}`

/** Selects statements that take the rights of all roles but the owner to what is not in a list of objects. */
const SELECT_REVOKES = `
  SELECT DISTINCT format('REVOKE ALL ON %s %s FROM %s CASCADE', kind, name,
    CASE grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(grantee)) END)
  FROM (SELECT kind, name, owner, (aclexplode(rights)).grantee FROM ${OBJECTS}
    AND kind || objects.oid NOT IN (SELECT json_array_elements_text($1::json))) AS granted
  WHERE grantee <> owner`

/**
 * Begins a transaction that may take long, one process after the other. At its end, default privileges let no other
 * role do anything with what it has created: a provider may let everybody with a public key be such a role.
 *
 * @param onStep is called where another process is migrating
 */
export async function beginMigration(address: Address, onStep: OnStep): Promise<Transaction> {
  await using opened = new AsyncDisposableStack()
  const pool = opened.use(openPool(address, { max: 1 }))
  // A server would not start on what is created otherwise.
  await checkServer(pool, address.subject)
  const transaction = opened.use(await pool.beginTransaction(WITHOUT_LIMITS))
  const { query, executeScript } = transaction
  const [[isFree] = []] = await query(`SELECT pg_try_advisory_xact_lock(${LOCK})`)
  if (!isFree) onStep(`${address.subject} is being migrated by another process: waiting for it`)
  await executeScript(`SELECT pg_advisory_xact_lock(${LOCK}); ${USE_SCHEMA}`)
  const [[objects] = ['']] = await query<[names: string]>(SELECT_OBJECTS)
  const running = opened.move()
  return {
    ...transaction,
    async commit() {
      await executeScript((await query(SELECT_REVOKES, objects)).join('; '))
      await transaction.commit()
    },
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  }
}

import { loadEngine } from './address.ts'
import { openDatabase } from './database.ts'
import { type Engine, type OnProgress, type OnWaiting, type Session, StorageError } from './engine.ts'
import { checkMigrated, migrateDatabase } from './migrations.ts'

/** What was copied. */
export interface CopyResult {
  /** The names of the databases. */
  readonly source: string
  readonly target: string
  readonly plants: number
  readonly tokens: number
}

/** What a copy reports. */
export interface CopyOptions {
  /** Called with the number of plants. */
  onProgress?: OnProgress
  /** Called with a sentence about the process that keeps it waiting. */
  onWaiting?: OnWaiting
}

/** A connection of a copy, and the name of its database in messages. */
type Side = Pick<Engine, 'subject'> & Pick<Session, 'connection'>

/**
 * The tables that are copied, in this order, each with the column that orders its rows and a value before all of them.
 * The versions of lists come with the plants.
 */
const TABLES = [
  { table: 'Secret', key: 'name', start: '' },
  { table: 'Token', key: 'id', start: '' },
  { table: 'Plant', key: 'seq', start: Number.MIN_SAFE_INTEGER },
] as const

/** How many rows of each table were copied. */
type Counts = Record<(typeof TABLES)[number]['table'], number>

/** How many rows are read and written at a time. A plant has at most 100 kB. */
const BATCH = 100

/** How the source is. */
interface SourceState {
  /** Another number after every commit of another connection; some checkpoints of others change it too. */
  readonly changes: number
  /** How many plants there are, of all accounts. */
  readonly plants: number
  /** The largest `seq` that a plant has or had. */
  readonly last: number
}
const SELECT_STATE = `
  SELECT (SELECT data_version FROM pragma_data_version) AS "changes", (SELECT count(*) FROM "Plant") AS "plants",
    max(coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'Plant'), 0),
        coalesce((SELECT max("seq") FROM "Plant"), 0)) AS "last"`
/** Inserts rows with their `seq`. */
const insertInto = (table: string) => `
  INSERT INTO "${table}" OVERRIDING SYSTEM VALUE SELECT * FROM json_populate_recordset(NULL::"${table}", $1::json)`
const SEQUENCE = `pg_get_serial_sequence('"Plant"', 'seq')::regclass`
/** Lets the next plant get a larger `seq`, on PostgreSQL. */
const CONTINUE_AFTER = `SELECT setval(${SEQUENCE}, greatest($1::bigint, pg_sequence_last_value(${SEQUENCE})))`

/**
 * Copies tokens, secrets and plants, with their order and their times, from SQLite to an empty PostgreSQL database,
 * which is migrated if needed. The source is only read. All or nothing: if anything fails, the target is still empty.
 *
 * @param from,to DATABASE_URLs, see `databaseUrl`
 * @throws {StorageError} if the source does not exist or needs a migration, or is changed meanwhile; the target is not
 *   empty; one of them is of another engine or cannot be used
 */
export async function copyDatabase(
  from: string,
  to: string,
  { onProgress, onWaiting }: CopyOptions = {},
): Promise<CopyResult> {
  const [source, target] = [await loadEngine(from), await loadEngine(to)]
  if (source.name !== 'sqlite' || target.name !== 'postgresql') {
    throw new StorageError(`${source.subject} cannot be copied to ${target.subject}: copy from SQLite to PostgreSQL`)
  }
  await checkMigrated(from)
  await using reading = await source.beginReading()
  await migrateDatabase(to, undefined, { onWaiting })
  // A server would reject a database that does not keep what is promised: better before the copy than after it.
  await (await openDatabase(to)).close()
  await using writing = await target.beginWriting(onWaiting)
  const counts = await copyAll({ ...source, ...reading }, { ...target, ...writing }, onProgress)
  await writing.commit()
  return { source: source.subject, target: target.subject, plants: counts.Plant, tokens: counts.Token }
}

/** Copies all rows, and returns how many each table has. */
async function copyAll(source: Side, target: Side, onProgress?: OnProgress): Promise<Counts> {
  const counts: Counts = { Secret: 0, Token: 0, Plant: 0 }
  await prepareTarget(target)
  const readState = async () => (await source.connection.query<SourceState>(SELECT_STATE))[0] as SourceState
  const before = await readState()
  for (const { table, key, start } of TABLES) {
    const sql = `SELECT * FROM "${table}" WHERE "${key}" > $1 ORDER BY "${key}" LIMIT ${BATCH}`
    let last: string | number = start
    for (;;) {
      const rows = await source.connection.query(sql, last)
      if (rows.length === 0) break
      await target.connection.query(insertInto(table), JSON.stringify(rows))
      counts[table] += rows.length
      onProgress?.(counts.Plant, before.plants)
      last = rows.at(-1)?.[key] as string | number
    }
  }
  if (before.last > 0) await target.connection.query(CONTINUE_AFTER, before.last)
  // Until its next automatic ANALYZE, PostgreSQL would plan statements as for an empty table.
  await target.connection.executeScript('ANALYZE "Plant"')
  if ((await readState()).changes !== before.changes) {
    const reason =
      'was changed meanwhile. Nothing was stored: stop every server that uses it, and run the same command again'
    throw new StorageError(`${source.subject} ${reason}`)
  }
  return counts
}

/** Requires a target without data, and removes the secret that a server creates when it starts. */
async function prepareTarget({ subject, connection }: Side): Promise<void> {
  await connection.executeScript('DELETE FROM "Secret"')
  for (const { table } of TABLES) {
    const rows = await connection.query(`SELECT 1 FROM "${table}" LIMIT 1`)
    if (rows.length === 0) continue
    throw new StorageError(`${subject} is not empty, it has a ${table.toLowerCase()}: copy to a new database`)
  }
}

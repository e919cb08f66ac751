import { createHash } from 'node:crypto'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { StorageError } from './database.ts'
import type { Engine, Transaction } from './engine.ts'
import { checkMigrated, migrateDatabase } from './migrations.ts'
import { loadEngine, openDatabase } from './open-database.ts'
import { createPrisma, type Prisma } from './prisma-client.ts'

/** A database of a copy. */
export interface CopyAddress {
  /** A DATABASE_URL, see `databaseUrl`. */
  readonly url: string
  /** Where it was set, for messages: `--from`, `--to` or `DATABASE_URL`. */
  readonly setting: string
}

/** How to copy. */
export interface CopyOptions {
  /** Called after each batch. */
  onProgress?: (progress: CopyProgress) => void
  /** Aborts the copy: the target is then as it was. */
  signal?: AbortSignal | undefined
}

/** How far a copy is. */
export interface CopyProgress {
  readonly phase: 'copying' | 'verifying'
  /** How many plants this phase has handled. */
  readonly plants: number
  /** How much of all plants are handled, from 0 to 1, by their `seq`: counting many plants takes long. */
  readonly fraction: number
}

/** What is in a database. */
interface Digest {
  readonly plants: number
  readonly tokens: number
  /** SHA-256 of all rows as JSON, 64 lower-case hexadecimal digits. */
  readonly sha256: string
}

/** What was copied: the same is in both databases, which have these names. */
export interface CopyResult extends Digest {
  readonly source: string
  readonly target: string
}

/** A database of a copy while it is open. */
interface Side {
  /** Names the database in messages. */
  readonly name: string
  readonly prisma: Prisma
}

/** The tables that are copied, in this order. The versions of lists come with the plants. */
const TABLES = ['Secret', 'Token', 'Plant'] as const
type Table = (typeof TABLES)[number]
type Row = Readonly<Record<string, unknown>>

/** How many rows are read and written at a time. A plant has at most 100 kB. */
const BATCH = 100

/** Reads the rows of a table after the last one that was read, in order of their keys. */
const READ: Readonly<Record<Table, (prisma: Prisma, last: Row | undefined) => Promise<Row[]>>> = {
  Secret: ({ secret }, last) =>
    secret.findMany({ where: { name: { gt: String(last?.['name'] ?? '') } }, orderBy: { name: 'asc' }, take: BATCH }),
  Token: ({ token }, last) =>
    token.findMany({ where: { id: { gt: String(last?.['id'] ?? '') } }, orderBy: { id: 'asc' }, take: BATCH }),
  async Plant({ plant }, last) {
    const seq = { gt: (last?.['seq'] as number | undefined) ?? Number.MIN_SAFE_INTEGER }
    const rows = await plant.findMany({ where: { seq }, orderBy: { seq: 'asc' }, take: BATCH })
    // A bigint on PostgreSQL.
    return rows.map((row) => ({ ...row, seq: Number(row.seq) }))
  },
}

/** The largest `seq` that a plant has or had, on SQLite. */
const SELECT_LAST_SEQ = `
  SELECT max(coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'Plant'), 0),
             coalesce((SELECT max("seq") FROM "Plant"), 0)) AS "seq"`
/** Lets the next plant get a larger `seq`, on PostgreSQL. */
const SEQUENCE = `pg_get_serial_sequence('"Plant"', 'seq')::regclass`
const CONTINUE_AFTER = `SELECT setval(${SEQUENCE}, greatest($1::bigint, pg_sequence_last_value(${SEQUENCE})))`

/**
 * Copies tokens, secrets and plants, with their order and their times, from SQLite to an empty PostgreSQL database, which is
 * migrated if needed. The source is only read. Both databases are then compared by count and SHA-256. All or nothing: if
 * anything fails, the target is still empty.
 *
 * @throws {StorageError} if the source does not exist or needs a migration, or is changed meanwhile; the target is not
 *   empty, one of them is of another engine or cannot be used, or they differ at the end; the signal's reason
 */
export async function copyDatabase(from: CopyAddress, to: CopyAddress, options: CopyOptions = {}): Promise<CopyResult> {
  const { signal } = options
  const [source, target] = [await loadEngine(from.url), await loadEngine(to.url)]
  if (source.name !== 'sqlite' || target.name !== 'postgresql') {
    throw new StorageError(`${from.setting} must name a SQLite database, and ${to.setting} a PostgreSQL one`)
  }
  const reading = await naming(from.setting, async () => {
    await checkMigrated(from.url)
    return source.beginReading(signal)
  })
  try {
    const writing = await naming(to.setting, async () => {
      await migrateDatabase(to.url, undefined, { signal })
      // A server would reject a database that does not keep what is promised: better before the copy than after it.
      await (await openDatabase(to.url, { signal })).close()
      return target.beginWriting(signal)
    })
    try {
      const result = await copyAll(await toSide(source, reading), await toSide(target, writing), options)
      await naming(to.setting, writing.commit)
      return result
    } finally {
      await writing.close()
    }
  } finally {
    await reading.close()
  }
}

/** Names in a failure where the URL of the database was set. */
async function naming<Result>(setting: string, run: () => Promise<Result>): Promise<Result> {
  try {
    return await run()
  } catch (error) {
    if (!(error instanceof StorageError) || setting === 'DATABASE_URL') throw error
    const message = error.message
      .replaceAll('DATABASE_URL', setting)
      .replace('run "plant-store migrate"', 'run "plant-store migrate" with it as DATABASE_URL')
    throw new StorageError(message, { cause: error })
  }
}

async function toSide({ database, loadClient }: Engine, { connection }: Transaction): Promise<Side> {
  return { name: database, prisma: createPrisma(await loadClient(), connection) }
}

async function copyAll(
  source: Side,
  target: Side,
  { onProgress = () => {}, signal }: CopyOptions,
): Promise<CopyResult> {
  const [newest] = await source.prisma.$queryRawUnsafe<{ seq: unknown }[]>(SELECT_LAST_SEQ)
  const last = Number(newest?.seq)
  const report =
    (phase: CopyProgress['phase']) =>
    (plants: number, { seq }: Row) =>
      onProgress({ phase, plants, fraction: Math.min(1, Math.max(0, Number(seq) / Math.max(1, last))) })
  await rejectData(target)
  await readAll(source, signal, (table, rows) => insertRows(target, table, rows), report('copying'))
  if (last > 0) await target.prisma.$queryRawUnsafe(CONTINUE_AFTER, last)
  // Until its next automatic ANALYZE, PostgreSQL would plan statements as for an empty table.
  await target.prisma.$executeRawUnsafe('ANALYZE "Plant"')

  const [original, copied] = [await digest(source, signal), await digest(target, signal, report('verifying'))]
  if (original.sha256 !== copied.sha256) {
    throw new StorageError(
      `${source.name} has ${describe(original)}, ${describe(copied)} were copied, and they differ: it was changed ` +
        'meanwhile. Nothing was stored: stop every server that uses it, and run the same command again',
    )
  }
  return { source: source.name, target: target.name, ...copied }
}

/** Rejects a target that has been used. The secret that a server creates when it starts is replaced: nothing relies on it yet. */
async function rejectData({ name, prisma }: Side): Promise<void> {
  await prisma.secret.deleteMany()
  for (const table of TABLES) {
    if ((await READ[table](prisma, undefined)).length === 0) continue
    const advice = 'choose a new database as the target, or check --from and --to'
    throw new StorageError(`${name} is not empty, it has a ${table.toLowerCase()}: ${advice}`)
  }
}

/** Inserts rows with their `seq`, which Prisma Client cannot choose. */
async function insertRows({ prisma }: Side, table: Table, rows: readonly Row[]): Promise<void> {
  const insert = `
    INSERT INTO "${table}" OVERRIDING SYSTEM VALUE SELECT * FROM json_populate_recordset(NULL::"${table}", $1::json)`
  await prisma.$executeRawUnsafe(insert, JSON.stringify(rows))
}

async function digest(side: Side, signal?: AbortSignal, report?: ReportPlants): Promise<Digest> {
  const hash = createHash('sha256')
  // Independent of where a batch ends.
  const add = async (table: Table, rows: readonly Row[]) => {
    for (const row of rows) hash.update(`${table}${JSON.stringify(row)}\n`)
  }
  const counts = await readAll(side, signal, add, report)
  return { plants: counts.Plant, tokens: counts.Token, sha256: hash.digest('hex') }
}

function describe({ plants, tokens }: Digest): string {
  return `${plants} plants and ${tokens} tokens`
}

/** Called with how many plants were handled, and the last one. */
type ReportPlants = (plants: number, last: Row) => void

/** Reads all tables in batches, and returns how many rows they have. */
async function readAll(
  { prisma }: Side,
  signal: AbortSignal | undefined,
  handle: (table: Table, rows: readonly Row[]) => Promise<void>,
  report: ReportPlants = () => {},
): Promise<Record<Table, number>> {
  const counts = { Secret: 0, Token: 0, Plant: 0 }
  for (const table of TABLES) {
    for (let last: Row | undefined; ; ) {
      const rows = await READ[table](prisma, last)
      last = rows.at(-1)
      if (!last) break
      await handle(table, rows)
      counts[table] += rows.length
      if (table === 'Plant') report(counts.Plant, last)
      // A statement of SQLite ends in the turn in which it begins: signals arrive in the next one.
      await nextTurn()
      signal?.throwIfAborted()
    }
  }
  return counts
}

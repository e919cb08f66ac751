import { createHash } from 'node:crypto'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { DatabaseError } from './database-error.ts'
import { checkMigrated, explainDatabaseError, migrateDatabase, openCopyConnection, openDatabase } from './engines.ts'
import {
  type CopyConnection,
  type CopyRole,
  insertBatch,
  type Row,
  readBatches,
  type TableName,
  tableNames,
} from './shared/copy-tables.ts'

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

/**
 * Copies tokens, secrets and plants, with their order and their times, to an empty database of any engine, which is created
 * and migrated if needed. The source is only read. Both databases are then compared by count and SHA-256. All or nothing:
 * if anything fails, the target is still empty.
 *
 * @throws {DatabaseError} if the source does not exist or needs a migration, or is changed meanwhile; the target is not
 *   empty, one of them cannot be used, or they differ at the end; the signal's reason
 */
export async function copyDatabase(from: CopyAddress, to: CopyAddress, options: CopyOptions = {}): Promise<CopyResult> {
  const source = await open(from, 'source', options.signal)
  try {
    const target = await open(to, 'target', options.signal)
    try {
      return await copyAll(source, target, options)
    } finally {
      await target.close()
    }
  } finally {
    await source.close()
  }
}

/** Opens a database of a copy. What fails then, and later on the connection, names it and where its URL was set. */
async function open({ url, setting }: CopyAddress, role: CopyRole, signal?: AbortSignal): Promise<CopyConnection> {
  async function explain<Result>(run: () => Promise<Result>): Promise<Result> {
    try {
      return await run()
    } catch (error) {
      signal?.throwIfAborted()
      const reason = await explainDatabaseError(error, url)
      if (!(reason instanceof DatabaseError) || setting === 'DATABASE_URL') throw reason
      const message = reason.message
        .replaceAll('DATABASE_URL', setting)
        .replace('run "plant-store migrate"', 'run "plant-store migrate" with it as DATABASE_URL')
      throw new DatabaseError(message, { cause: reason })
    }
  }

  const connection = await explain(async () => {
    await (role === 'source' ? checkMigrated(url) : prepareTarget(url, signal))
    return openCopyConnection(url, role, signal)
  })
  return {
    ...connection,
    query: (statement, ...values) => explain(() => connection.query(statement, ...values)),
    commit: () => explain(connection.commit),
  }
}

async function prepareTarget(url: string, signal: AbortSignal | undefined): Promise<void> {
  // With `onPending`, a migration runs in a process of its own, so that this process receives signals.
  await migrateDatabase(url, undefined, { onPending: () => {}, signal })
  // A server would reject a database that does not keep what is promised: better before the copy than after it.
  const database = await openDatabase(url, { signal })
  await database.close()
}

async function copyAll(
  source: CopyConnection,
  target: CopyConnection,
  { onProgress = () => {}, signal }: CopyOptions,
): Promise<CopyResult> {
  const lastSeq = await selectLastSeq(source)
  const report = (phase: CopyProgress['phase']) => (plants: number, seq: unknown) =>
    onProgress({ phase, plants, fraction: Math.min(1, Math.max(0, Number(seq) / Math.max(1, lastSeq))) })
  await rejectData(target)
  await readAll(source, signal, (name, rows) => insertBatch(target, name, rows), report('copying'))
  const last = Math.max(lastSeq, await selectLastSeq(target))
  for (const statement of last > 0 ? target.dialect.continueAfter : []) {
    await target.query(statement, last)
  }

  const [original, copied] = await Promise.all([digest(source, signal), digest(target, signal, report('verifying'))])
  if (original.sha256 !== copied.sha256) {
    throw new DatabaseError(
      `${source.name} has ${describe(original)}, ${describe(copied)} were copied, and they differ: it was changed ` +
        'meanwhile. Nothing was stored: stop every server that uses it, and run the same command again',
    )
  }
  await target.commit()
  return { source: source.name, target: target.name, ...copied }
}

/** Rejects a target that has been used. The secret that a server creates when it starts is replaced: nothing relies on it yet. */
async function rejectData(target: CopyConnection): Promise<void> {
  await target.query('DELETE FROM "Secret"')
  for (const name of tableNames) {
    const [row] = await target.query<[number]>(`SELECT 1 FROM "${name}" LIMIT 1`)
    if (!row) continue
    throw new DatabaseError(
      `${target.name} is not empty, it has a ${name.toLowerCase()}: choose a new database as the target, or check --from and --to`,
    )
  }
}

async function selectLastSeq({ query, dialect }: CopyConnection): Promise<number> {
  const [row] = await query<[number]>(dialect.selectLastSeq)
  return row?.[0] ?? 0
}

async function digest(connection: CopyConnection, signal?: AbortSignal, report?: ReportPlants): Promise<Digest> {
  const hash = createHash('sha256')
  // Independent of where a batch ends.
  const add = async (name: TableName, rows: Row[]) => {
    for (const row of rows) hash.update(`${name}${JSON.stringify(row)}\n`)
  }
  const counts = await readAll(connection, signal, add, report)
  return { plants: counts.Plant, tokens: counts.Token, sha256: hash.digest('hex') }
}

function describe({ plants, tokens }: Digest): string {
  return `${plants} plants and ${tokens} tokens`
}

/** Called with how many plants were handled, and the `seq` of the last one. */
type ReportPlants = (plants: number, seq: unknown) => void

/** Reads all tables in batches, and returns how many rows they have. */
async function readAll(
  connection: CopyConnection,
  signal: AbortSignal | undefined,
  handle: (name: TableName, rows: Row[]) => Promise<void>,
  report: ReportPlants = () => {},
): Promise<Record<TableName, number>> {
  const counts = { Secret: 0, Token: 0, Plant: 0 }
  for (const name of tableNames) {
    for await (const rows of readBatches(connection, name)) {
      await handle(name, rows)
      counts[name] += rows.length
      if (name === 'Plant') report(counts.Plant, rows.at(-1)?.[0])
      // A statement of SQLite ends in the turn in which it begins: signals arrive in the next one.
      await nextTurn()
      signal?.throwIfAborted()
    }
  }
  return counts
}

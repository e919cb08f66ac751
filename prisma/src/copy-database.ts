import { createHash } from 'node:crypto'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { DatabaseError } from './database-error.ts'
import { checkMigrated, explainDatabaseError, migrateDatabase, openCopyConnection, openDatabase } from './engines.ts'
import {
  type CopyConnection,
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

/** What was copied. */
export interface CopyResult {
  /** Names of the databases. */
  readonly source: string
  readonly target: string
  readonly plants: number
  readonly tokens: number
  /** SHA-256 of what both store: all rows as JSON, 64 lower-case hexadecimal digits. */
  readonly sha256: string
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
  const { signal } = options
  const explain = explainFor(from, signal)
  await explain(() => checkMigrated(from.url))
  const source = await explain(() => openCopyConnection(from.url, 'source', signal))
  try {
    const target = await explainFor(to, signal)(() => openTarget(to.url, signal))
    try {
      return await copyAll(explained(source, explain), explained(target, explainFor(to, signal)), options)
    } finally {
      await target.close()
    }
  } finally {
    await source.close()
  }
}

async function openTarget(url: string, signal: AbortSignal | undefined): Promise<CopyConnection> {
  // With a listener, a migration runs in a process of its own, so that this process receives signals.
  await migrateDatabase(url, undefined, { onPending: () => {}, signal })
  // A server would reject a database that does not keep what is promised: better before the copy than after it.
  const database = await openDatabase(url, { signal })
  await database.close()
  return openCopyConnection(url, 'target', signal)
}

/** Runs an operation whose errors are sentences that name the database and where its URL was set, or the signal's reason. */
type Explain = <Result>(run: () => Promise<Result>) => Promise<Result>

function explainFor({ url, setting }: CopyAddress, signal: AbortSignal | undefined): Explain {
  return async (run) => {
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
}

function explained(connection: CopyConnection, explain: Explain): CopyConnection {
  const query: CopyConnection['query'] = (statement, ...values) => explain(() => connection.query(statement, ...values))
  return { ...connection, query, commit: () => explain(connection.commit) }
}

async function copyAll(source: CopyConnection, target: CopyConnection, { onProgress = () => {}, signal }: CopyOptions) {
  const lastSeq = await selectLastSeq(source)
  const report = (phase: CopyProgress['phase'], plants: number, seq: unknown) =>
    onProgress({ phase, plants, fraction: Math.min(1, Math.max(0, Number(seq) / Math.max(1, lastSeq))) })
  await rejectData(target)
  let plants = 0
  for await (const [name, rows] of readAll(source, signal)) {
    await insertBatch(target, name, rows)
    if (name !== 'Plant') continue
    plants += rows.length
    report('copying', plants, rows.at(-1)?.[0])
  }
  const last = Math.max(lastSeq, await selectLastSeq(target))
  for (const statement of last > 0 ? target.dialect.continueAfter : []) {
    await target.query(statement, last)
  }

  const reportVerified = (count: number, seq: unknown) => report('verifying', count, seq)
  const [original, copied] = await Promise.all([digest(source, signal), digest(target, signal, reportVerified)])
  if (original.sha256 !== copied.sha256) {
    throw new DatabaseError(
      `${source.name} has ${describe(original)}, ${describe(copied)} were copied, and they differ: it was changed ` +
        'meanwhile. Nothing was stored: stop every server that uses it, and run the same command again',
    )
  }
  await target.commit()
  return { source: source.name, target: target.name, ...copied }
}

/** Rejects a target that has been used, of which a server may already rely on the secrets. */
async function rejectData(target: CopyConnection): Promise<void> {
  for (const name of tableNames) {
    const [row] = await target.query<[number]>(`SELECT 1 FROM "${name}" LIMIT 1`)
    if (!row) continue
    throw new DatabaseError(
      `${target.name} is not empty, it has a ${name.toLowerCase()}: choose a new database as the target, or check --from and --to`,
    )
  }
}

/** What is in a database. */
interface Digest {
  readonly plants: number
  readonly tokens: number
  readonly sha256: string
}

async function digest(
  connection: CopyConnection,
  signal: AbortSignal | undefined,
  report: (plants: number, seq: unknown) => void = () => {},
): Promise<Digest> {
  const hash = createHash('sha256')
  const counts = { Secret: 0, Token: 0, Plant: 0 }
  for await (const [name, rows] of readAll(connection, signal)) {
    // Independent of where a batch ends.
    for (const row of rows) hash.update(`${name}${JSON.stringify(row)}\n`)
    counts[name] += rows.length
    if (name === 'Plant') report(counts.Plant, rows.at(-1)?.[0])
  }
  return { plants: counts.Plant, tokens: counts.Token, sha256: hash.digest('hex') }
}

function describe({ plants, tokens }: Digest): string {
  return `${plants} plants and ${tokens} tokens`
}

async function* readAll(
  connection: CopyConnection,
  signal?: AbortSignal,
): AsyncGenerator<[TableName, Row[]], undefined> {
  for (const name of tableNames) {
    for await (const rows of readBatches(connection, name)) {
      yield [name, rows]
      // A statement of SQLite ends in the turn in which it begins: signals arrive in the next one.
      await nextTurn()
      signal?.throwIfAborted()
    }
  }
}

async function selectLastSeq(connection: CopyConnection): Promise<number> {
  const [row] = await connection.query<[number]>(connection.dialect.selectLastSeq)
  return row?.[0] ?? 0
}

import { DatabaseError } from '../database-error.ts'
import { checkMigrated, migrateDatabase, openDatabase, openSide } from '../engine.ts'
import { compare } from './compare.ts'
import { copyRows } from './copy-rows.ts'
import { type CopyProgress, createProgress } from './progress.ts'
import type { Side } from './tables.ts'
import { verify } from './verify.ts'

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
  /** Aborts the copy. What is copied stays, and the next copy continues from there. */
  signal?: AbortSignal | undefined
}

/** What a copy has done. */
export interface CopyResult {
  /** Names of the databases. */
  readonly source: string
  readonly target: string
  /** How many plants and tokens both have. */
  readonly plants: number
  readonly tokens: number
  /** How many rows of the target this copy has changed; 0: it was complete. */
  readonly changed: number
  /** SHA-256 of what both store. */
  readonly sha256: string
}

/**
 * Copies tokens, secrets and plants, with their order and their times, to a database of any engine, which is created and
 * migrated if needed. The source is only read. Each batch is durable, and a copy continues where an interrupted one ended.
 * At the end the rows of both databases are compared by count and SHA-256.
 *
 * @throws {DatabaseError} if the source does not exist or needs a migration, the target has other data, both are the same
 *   database, one of them cannot be used, or they differ at the end; the signal's reason
 */
export async function copyDatabase(
  from: CopyAddress,
  to: CopyAddress,
  { onProgress = () => {}, signal }: CopyOptions = {},
): Promise<CopyResult> {
  const source = await explainFor(from, () => openSource(from.url, signal))
  try {
    const target = await explainFor(to, () => openTarget(to.url, signal))
    try {
      return await copyAll(source, target, onProgress, signal)
    } finally {
      await target.close()
    }
  } finally {
    await source.close()
  }
}

async function openSource(url: string, signal: AbortSignal | undefined): Promise<Side> {
  await checkMigrated(url)
  return openSide(url, 'source', signal)
}

async function openTarget(url: string, signal: AbortSignal | undefined): Promise<Side> {
  // With a listener it runs in a process of its own, so that this one receives signals.
  await migrateDatabase(url, undefined, { onPending: () => {}, signal })
  // A server would reject a database that does not keep what is promised: better before the copy than after it.
  const database = await openDatabase(url, { signal })
  await database.close()
  return openSide(url, 'target', signal)
}

async function copyAll(
  source: Side,
  target: Side,
  onProgress: (progress: CopyProgress) => void,
  signal: AbortSignal | undefined,
): Promise<CopyResult> {
  if ((await source.identify()) === (await target.identify())) {
    throw new DatabaseError(`${target.name} is both the source and the target: check --from, --to and DATABASE_URL`)
  }
  const sides = { source, target, signal }
  const lastSeq = await source.lastSeq()
  const after = await compare({ ...sides, report: createProgress('comparing', lastSeq, onProgress) })

  let changed = 0
  for (const name of ['Secret', 'Token'] as const) changed += await copyRows({ ...sides, name })
  // First, so that what a server adds to an incomplete copy by mistake is not between the plants of the source.
  if (lastSeq > 0) await target.continueAfter(lastSeq)
  const report = createProgress('copying', lastSeq, onProgress, Number(after ?? 0))
  changed += await copyRows({ ...sides, name: 'Plant', after, report })
  const last = await source.lastSeq()
  if (last > 0) await target.continueAfter(last)

  const { counts, sha256 } = await verify({
    ...sides,
    report: createProgress('verifying', last, onProgress),
  })
  return { source: source.name, target: target.name, plants: counts.Plant, tokens: counts.Token, changed, sha256 }
}

/** Makes the errors of a database name the option that its URL comes from. */
async function explainFor<Result>({ setting }: CopyAddress, run: () => Promise<Result>): Promise<Result> {
  try {
    return await run()
  } catch (error) {
    if (!(error instanceof DatabaseError) || setting === 'DATABASE_URL') throw error
    const message = error.message
      .replaceAll('DATABASE_URL', setting)
      .replace('run "plant-store migrate"', 'run "plant-store migrate" with it as DATABASE_URL')
    throw new DatabaseError(message, { cause: error })
  }
}

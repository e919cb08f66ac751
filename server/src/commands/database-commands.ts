/** The commands that migrate, back up and copy a database, and say every five seconds how far they are. */
import path from 'node:path'
import {
  backupDatabase,
  type CopyAddress,
  copyDatabase,
  databaseUrl,
  migrateDatabase,
  StorageError,
} from '@plant-store/prisma'
import type { Settings } from '../settings.ts'
import { type Context, UsageError } from './console.ts'

const REPORT_INTERVAL = 5_000

/** The options of `copy`, as typed in. */
export interface CopyOptions {
  from?: string
  to?: string
}

/** Migrates the database and prints what was applied. */
export async function migrate({ settings, print, report }: Context, signal: AbortSignal): Promise<void> {
  const { applied } = await withProgress(report, (show) => {
    // With `onPending`, the event loop stays free, so that the process receives the signal.
    const onPending = (names: string[]) => show(`applying ${names.join(', ')}`)
    return migrateDatabase(settings.databaseUrl, undefined, { onPending, signal })
  })
  await print(applied.length === 0 ? 'The database is up to date.' : `Applied: ${applied.join(', ')}`)
}

/** Copies the database to a file, relative to the current folder. */
export async function backup({ settings, print, report }: Context, file: string, signal: AbortSignal): Promise<void> {
  const target = path.resolve(file)
  const { recorded } = await withProgress(report, (show) =>
    backupDatabase(settings.databaseUrl, target, {
      onProgress: (progress) => show(progress.phase === 'copying' ? percent('copying', progress) : 'checking the copy'),
      signal,
    }),
  )
  await print(`The database is copied to ${target}.`)
  if (recorded) return
  report(
    'the metrics do not show this backup: let this user write to the folder of the database, move a file away from ' +
      'there that ends with -last-backup and is not empty, then repeat it',
  )
}

/** Copies a database to another one and prints the result. */
export async function copy(
  { settings, print, report }: Context,
  { from, to }: CopyOptions,
  signal: AbortSignal,
): Promise<void> {
  if (from === undefined && to === undefined) {
    throw new UsageError('name the source with --from or the target with --to; the other one is DATABASE_URL')
  }
  const addresses = [readAddress(from, '--from', settings), readAddress(to, '--to', settings)] as const
  const { source, target, plants, tokens, sha256 } = await withProgress(report, (show) =>
    copyDatabase(...addresses, { onProgress: (progress) => show(percent(progress.phase, progress)), signal }),
  )
  const name = target.charAt(0).toUpperCase() + target.slice(1)
  const rows = `${count(plants, 'plant')} and ${count(tokens, 'token')}`
  await print(`${name} is now a copy of ${source}: ${rows}, SHA-256 ${sha256}`)
}

function readAddress(url: string | undefined, option: string, settings: Settings): CopyAddress {
  if (url === undefined) return { url: settings.databaseUrl, setting: 'DATABASE_URL' }
  try {
    return { url: databaseUrl(url), setting: option }
  } catch (error) {
    if (!(error instanceof StorageError)) throw error
    throw new UsageError(error.message.replace('DATABASE_URL', option))
  }
}

function count(rows: number, name: string): string {
  return `${rows.toLocaleString('en-US')} ${name}${rows === 1 ? '' : 's'}`
}

function percent(phase: string, { fraction }: { fraction: number }): string {
  return `${phase} ${Math.floor(fraction * 100)}%`
}

/** Runs what takes long, and reports how far it is. */
export async function withProgress<Result>(
  report: (text: string) => void,
  run: (show: (progress: string) => void) => Promise<Result>,
): Promise<Result> {
  let progress: string | undefined
  const timer = setInterval(() => {
    if (progress !== undefined) report(progress)
  }, REPORT_INTERVAL)
  try {
    return await run((latest) => {
      progress = latest
    })
  } finally {
    clearInterval(timer)
  }
}

/** The commands that migrate, back up and copy a database, and show on standard error how far they are. */
import path from 'node:path'
import { isatty } from 'node:tty'
import { setFlagsFromString } from 'node:v8'
import {
  backupDatabase,
  type CopyAddress,
  copyDatabase,
  DatabaseError,
  databaseUrl,
  migrateDatabase,
} from '@plant-store/prisma'
import type { Settings } from '../settings.ts'
import { announce, type Context, printError, tryToWrite, UsageError } from './console.ts'

const MEGABYTE = 1_000_000
const SECOND = 1_000
/** How often the line of a terminal is replaced, and how often there is one without a terminal, in milliseconds. */
const INTERVALS = { terminal: 100, file: 5_000 }
/**
 * Keeps V8 from letting the heap grow before it collects garbage: batches live briefly. A copy of a million plants takes at
 * most 50 MB over idle with this, and 220 MB without.
 */
const HEAP_FLAGS = ['--heap-growing-percent=50', '--semi-space-growth-factor=1']

/** The options of `copy`, as typed in. */
export interface CopyOptions {
  from?: string
  to?: string
}

/** Migrates the database and prints what was applied. */
export async function migrate({ settings, output, errors }: Context, signal: AbortSignal): Promise<void> {
  const { applied } = await withProgress(errors, (show) => {
    // With `onPending`, a migration runs in a process of its own, so that this process receives the signal.
    const onPending = (names: string[]) => show(`applying ${names.join(', ')}`)
    return migrateDatabase(settings.databaseUrl, undefined, { onPending, signal })
  })
  announce(applied.length === 0 ? 'The database is up to date.' : `Applied: ${applied.join(', ')}`, output)
}

/** Copies the database to a file, relative to the current folder. */
export async function backup({ settings, output, errors }: Context, file: string, signal: AbortSignal): Promise<void> {
  const target = path.resolve(file)
  const { recorded } = await withProgress(errors, (show) =>
    backupDatabase(settings.databaseUrl, target, {
      onProgress(progress) {
        if (progress.phase === 'checking') return show('checking the copy')
        const megabytes = Math.round(progress.bytes / MEGABYTE).toLocaleString('en-US')
        show(`${progress.phase} ${percent(progress.fraction)}: ${megabytes} MB`)
      },
      signal,
    }),
  )
  announce(`The database is copied to ${target}.`, output)
  if (recorded) return
  printError(
    'plant-store: the metrics do not show this backup: let this user write to the folder of the database, move a file ' +
      'away from there that ends with -last-backup and is not empty, then repeat it',
    errors,
  )
}

/** Copies a database to another one and prints the result. */
export async function copy(
  { settings, output, errors }: Context,
  { from, to }: CopyOptions,
  signal: AbortSignal,
): Promise<void> {
  if (from === undefined && to === undefined) {
    throw new UsageError('name the source with --from or the target with --to; the other one is DATABASE_URL')
  }
  const addresses = [readAddress(from, '--from', settings), readAddress(to, '--to', settings)] as const
  for (const flag of HEAP_FLAGS) setFlagsFromString(flag)
  try {
    const { source, target, plants, tokens, sha256 } = await withProgress(errors, (show) =>
      copyDatabase(...addresses, {
        onProgress: ({ phase, plants, fraction }) => show(`${phase} ${percent(fraction)}: ${count(plants, 'plant')}`),
        signal,
      }),
    )
    const name = target.charAt(0).toUpperCase() + target.slice(1)
    const rows = `${count(plants, 'plant')} and ${count(tokens, 'token')}`
    announce(`${name} is now a copy of ${source}: ${rows}, SHA-256 ${sha256}`, output)
  } catch (error) {
    if (signal.aborted) printError('plant-store: stopped; nothing was copied', errors)
    throw error
  }
}

function readAddress(url: string | undefined, option: string, settings: Settings): CopyAddress {
  if (url === undefined) return { url: settings.databaseUrl, setting: 'DATABASE_URL' }
  try {
    return { url: databaseUrl(url), setting: option }
  } catch (error) {
    if (!(error instanceof DatabaseError)) throw error
    throw new UsageError(error.message.replace('DATABASE_URL', option))
  }
}

function count(rows: number, name: string): string {
  return `${rows.toLocaleString('en-US')} ${name}${rows === 1 ? '' : 's'}`
}

function percent(fraction: number): string {
  return `${Math.floor(fraction * 100)}%`
}

/**
 * Runs what takes long, and shows how far it is.
 *
 * @param errors the file descriptor of standard error; what cannot be written is dropped, as when the terminal is closed
 * @param isTerminal whether a line replaces the one before
 */
export async function withProgress<Result>(
  errors: number,
  run: (show: (progress: string) => void) => Promise<Result>,
  isTerminal: boolean = isatty(errors),
): Promise<Result> {
  const begin = performance.now()
  let progress: string | undefined
  let isShown = false
  function draw(): void {
    if (progress === undefined) return
    const line = `${progress}, ${Math.round((performance.now() - begin) / SECOND)} s`
    tryToWrite(errors, isTerminal ? `\r${line}\x1b[K` : `plant-store: ${line}\n`)
    isShown = true
  }

  const timer = setInterval(draw, isTerminal ? INTERVALS.terminal : INTERVALS.file)
  try {
    return await run((latest) => {
      progress = latest
    })
  } finally {
    clearInterval(timer)
    if (isTerminal && isShown) tryToWrite(errors, '\r\x1b[K')
  }
}

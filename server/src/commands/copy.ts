import { setFlagsFromString } from 'node:v8'
import { type CopyAddress, type CopyProgress, copyDatabase, DatabaseError, databaseUrl } from '@plant-store/prisma'
import type { Settings } from '../settings/settings.ts'
import { announce, type Context, printError, UsageError } from './console.ts'
import { withProgress } from './progress.ts'

/** The options of `copy`, as typed in. */
export interface CopyOptions {
  from?: string
  to?: string
}

/**
 * Keeps V8 from letting the heap grow before it collects garbage: batches live briefly. A copy takes 30 to 40 MB over idle
 * with this, and up to 90 MB without (Node.js 20).
 */
const HEAP_FLAGS = ['--heap-growing-percent=50', '--semi-space-growth-factor=1']

/** Copies a database to another one, shows the progress on standard error and prints the result. */
export async function copy(
  { settings, output, errors }: Context,
  { from, to }: CopyOptions,
  signal: AbortSignal,
): Promise<void> {
  if (from === undefined && to === undefined) {
    throw new UsageError('name the source with --from or the target with --to; the other one is DATABASE_URL')
  }
  const [source, target] = [readAddress(from, '--from', settings), readAddress(to, '--to', settings)]
  for (const flag of HEAP_FLAGS) setFlagsFromString(flag)
  try {
    const result = await withProgress(
      (show) => {
        const onProgress = ({ phase, plants, fraction }: CopyProgress) =>
          show({ phase, done: count(plants, 'plant'), fraction })
        return copyDatabase(source, target, { onProgress, signal })
      },
      { errors },
    )
    const rows = `${count(result.plants, 'plant')} and ${count(result.tokens, 'token')}`
    announce(
      `${capitalize(result.target)} is now a copy of ${result.source}: ${rows}, SHA-256 ${result.sha256}`,
      output,
    )
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

function capitalize(sentence: string): string {
  return sentence.charAt(0).toUpperCase() + sentence.slice(1)
}

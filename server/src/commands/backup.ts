import path from 'node:path'
import { type BackupProgress, backupDatabase } from '@plant-store/prisma'
import { announce, type Context, printError } from './console.ts'
import { type Progress, withProgress } from './progress.ts'

const MEGABYTE = 1_000_000

/** Copies the database to a file, relative to the current folder, and shows the progress on standard error. */
export async function backup({ settings, output, errors }: Context, file: string, signal: AbortSignal): Promise<void> {
  const target = path.resolve(file)
  const { recorded } = await withProgress(
    (show) => {
      const onProgress = (progress: BackupProgress) => show(toProgress(progress))
      return backupDatabase(settings.databaseUrl, target, { onProgress, signal })
    },
    { errors },
  )
  announce(`The database is copied to ${target}.`, output)
  if (recorded) return
  printError(
    'plant-store: the metrics do not show this backup: let this user write to the folder of the database, move a file ' +
      'away from there that ends with -last-backup and is not empty, then repeat it',
    errors,
  )
}

function toProgress(progress: BackupProgress): Progress {
  if (progress.phase === 'checking') return { phase: 'checking the copy' }
  const { phase, bytes, fraction } = progress
  return { phase, done: `${Math.round(bytes / MEGABYTE).toLocaleString('en-US')} MB`, fraction }
}

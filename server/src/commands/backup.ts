import path from 'node:path'
import { backupDatabase } from '@plant-store/prisma'
import type { Settings } from '../settings/settings.ts'
import { announce } from './console/output.ts'

/** Copies the database to a file, relative to the current folder. */
export async function backup({ databaseUrl }: Settings, file: string, signal: AbortSignal): Promise<void> {
  const target = path.resolve(file)
  const { recorded } = await backupDatabase(databaseUrl, target, signal)
  announce(`The database is copied to ${target}.`)
  if (recorded) return
  console.error(
    'plant-store: the metrics do not show this backup: let this user write to the folder of the database, then repeat it',
  )
}

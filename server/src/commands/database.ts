/** The commands that look after a database: migrate, backup. */
import path from 'node:path'
import { backupDatabase, checkMigrated, migrateDatabase } from '@plant-store/prisma'
import type { Context } from './context.ts'

/** Migrates the database and prints what was applied, or only checks that nothing would be. */
export async function migrate({ settings, print, progress }: Context, { check }: { check?: boolean }): Promise<void> {
  if (check) await checkMigrated(settings.databaseUrl)
  const onMigration = (name: string, done: number, total: number) =>
    progress(`Applying the migration ${name}, ${done + 1} of ${total}`)
  const options = { onMigration, onWaiting: progress }
  const { applied } = check ? { applied: [] } : await migrateDatabase(settings.databaseUrl, undefined, options)
  await print(applied.length === 0 ? 'The database is up to date.' : `Applied: ${applied.join(', ')}`)
}

/** Copies the database to a file, relative to the current folder. */
export async function backup({ settings, print, progress }: Context, file: string): Promise<void> {
  const target = path.resolve(file)
  await backupDatabase(settings.databaseUrl, target, (done, total) =>
    progress(`Copying the database: ${formatBytes(done)} of at most ${formatBytes(total)}`),
  )
  await print(`The database is copied to ${target}.`)
}

function formatBytes(bytes: number): string {
  return `${bytes.toLocaleString('en-US')} byte${bytes === 1 ? '' : 's'}`
}

/** The commands that look after a database: migrate, backup. */
import path from 'node:path'
import { backupDatabase, checkMigrated, migrateDatabase } from '@plant-store/prisma'
import type { Context } from './context.ts'

/** Migrates the database and prints what was applied, or only checks that nothing would be. */
export async function migrate({ settings, print, progress }: Context, { check }: { check?: boolean }): Promise<void> {
  if (check) await checkMigrated(settings.databaseUrl)
  const { applied } = check ? { applied: [] } : await migrateDatabase(settings.databaseUrl, undefined, progress)
  await print(applied.length === 0 ? 'The database is up to date.' : `Applied: ${applied.join(', ')}`)
}

/** Copies the database to a file, relative to the current folder. */
export async function backup({ settings, print, progress }: Context, file: string): Promise<void> {
  const target = path.resolve(file)
  await backupDatabase(settings.databaseUrl, target, progress)
  await print(`The database is copied to ${target}.`)
}

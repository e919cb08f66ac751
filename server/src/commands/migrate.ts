import { migrateDatabase } from '@plant-store/prisma'
import type { Settings } from '../settings.ts'

/** Brings the database up to date and says what that took. */
export async function migrate({ databaseUrl }: Settings): Promise<void> {
  const { applied } = await migrateDatabase(databaseUrl)
  console.log(applied.length === 0 ? 'The database is up to date.' : `Applied: ${applied.join(', ')}`)
}

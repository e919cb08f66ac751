import { migrateDatabase } from '@plant-store/prisma'
import type { Settings } from '../settings/settings.ts'
import { announce } from './output.ts'

/** Brings the database up to date and says what that took. The signal ends it. */
export async function migrate({ databaseUrl }: Settings, signal: AbortSignal): Promise<void> {
  // In a process of its own, so that this one hears the signal.
  const { applied } = await migrateDatabase(databaseUrl, undefined, { onPending: () => {}, signal })
  announce(applied.length === 0 ? 'The database is up to date.' : `Applied: ${applied.join(', ')}`)
}

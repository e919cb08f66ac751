import { migrateDatabase } from '@plant-store/prisma'
import type { Settings } from '../settings/settings.ts'
import { announce } from './console/output.ts'

/** Migrates the database and prints what was applied. */
export async function migrate({ databaseUrl }: Settings, signal: AbortSignal): Promise<void> {
  // With a listener it runs in a process of its own, so that this one receives the signal.
  const { applied } = await migrateDatabase(databaseUrl, undefined, { onPending: () => {}, signal })
  announce(applied.length === 0 ? 'The database is up to date.' : `Applied: ${applied.join(', ')}`)
}

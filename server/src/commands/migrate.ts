import { migrateDatabase } from '@plant-store/prisma'
import type { Settings } from '../settings/settings.ts'
import { announce } from './console/output.ts'
import { withProgress } from './console/progress.ts'

/** How often the progress is reported, in milliseconds. */
const REPORT_INTERVAL = 100

/** Migrates the database and prints what was applied. Standard error shows how long it takes. */
export async function migrate({ databaseUrl }: Settings, signal: AbortSignal): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const { applied } = await withProgress(async (show) => {
    // With a listener it runs in a process of its own, so that this one receives the signal.
    const onPending = (names: string[]) => {
      timer = setInterval(() => show({ phase: `applying ${names.join(', ')}` }), REPORT_INTERVAL)
    }
    return migrateDatabase(databaseUrl, undefined, { onPending, signal }).finally(() => clearInterval(timer))
  })
  announce(applied.length === 0 ? 'The database is up to date.' : `Applied: ${applied.join(', ')}`)
}

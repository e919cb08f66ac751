import { migrateDatabase } from '@plant-store/prisma'
import { announce, type Context } from './console.ts'
import { withProgress } from './progress.ts'

/** Migrates the database and prints what was applied. Standard error shows how long it takes. */
export async function migrate({ settings, output, errors }: Context, signal: AbortSignal): Promise<void> {
  const { applied } = await withProgress(
    (show) => {
      // With a listener it runs in a process of its own, so that this one receives the signal.
      const onPending = (names: string[]) => show({ phase: `applying ${names.join(', ')}` })
      return migrateDatabase(settings.databaseUrl, undefined, { onPending, signal })
    },
    { errors },
  )
  announce(applied.length === 0 ? 'The database is up to date.' : `Applied: ${applied.join(', ')}`, output)
}

import { migrateDatabase } from '@plant-store/prisma'
import type { Logger } from 'pino'

/** How to bring a database up to date. */
export interface UpToDateOptions {
  logger: Logger
  /** Where the migrations are; left out: those of the plant store. */
  migrationsFolder?: string | undefined
  /** Called before migrations are applied, which may take minutes; not where there are none. */
  onPending(): void
  /** Ends it. */
  signal?: AbortSignal | undefined
}

/**
 * Applies the migrations that a database lacks, while the event loop is free, and logs them before and after.
 *
 * @throws DatabaseError where the database cannot be used; the reason of the signal
 */
export async function bringUpToDate(
  databaseUrl: string,
  { logger, migrationsFolder, onPending, signal }: UpToDateOptions,
): Promise<void> {
  let begin = 0
  const { applied } = await migrateDatabase(databaseUrl, migrationsFolder, {
    onPending(migrations) {
      begin = performance.now()
      logger.info({ migrations }, 'migrating the database, which takes minutes if it is large')
      onPending()
    },
    signal,
  })
  if (applied.length === 0) return
  const seconds = Math.round(performance.now() - begin) / 1_000
  logger.info({ migrations: applied, seconds }, 'database migrated')
}

import { migrateDatabase } from '@plant-store/prisma'
import type { Logger } from 'pino'

/** How to migrate at startup. */
export interface StartupMigrationOptions {
  logger: Logger
  /** Where the migrations are. Default: those of the plant store. */
  migrationsFolder?: string | undefined
  /** Called before migrations are applied, which may take minutes. */
  onPending(): void
  /** Aborts the migration. */
  signal?: AbortSignal | undefined
}

/**
 * Applies the pending migrations and logs them, before and after. The event loop stays free.
 *
 * @throws DatabaseError where the database cannot be used; the signal's reason
 */
export async function migrateAtStartup(
  databaseUrl: string,
  { logger, migrationsFolder, onPending, signal }: StartupMigrationOptions,
): Promise<void> {
  let begin = 0
  const { applied } = await migrateDatabase(databaseUrl, migrationsFolder, {
    onPending(migrations) {
      begin = performance.now()
      logger.info({ migrations }, 'migrating the database; this can take minutes')
      onPending()
    },
    signal,
  })
  if (applied.length === 0) return
  const seconds = Math.round(performance.now() - begin) / 1_000
  logger.info({ migrations: applied, seconds }, 'database migrated')
}

import { checkMigrated, openDatabase } from '@plant-store/prisma'
import { createTokenStore, type TokenStore } from '../../accounts/token-store.ts'

/** How long a command waits for a locked database, in milliseconds: longer than a request, since no client waits. */
const PATIENCE = 30_000

/**
 * Opens the token store for one command and closes it in any case. It neither creates nor migrates a database: a mistyped
 * DATABASE_URL must not become a second one, and listing tokens must not change the one that a server uses.
 *
 * @throws DatabaseError if it does not exist, or needs a migration
 */
export async function withTokens<T>(databaseUrl: string, run: (tokens: TokenStore) => Promise<T>): Promise<T> {
  await checkMigrated(databaseUrl)
  const database = await openDatabase(databaseUrl, { patience: PATIENCE })
  try {
    return await run(createTokenStore(database.tokens))
  } finally {
    // What is committed is in the log, which the next process that opens the database writes back.
    await database.close().catch(() => {})
  }
}

import { existsSync } from 'node:fs'
import type { Database, OpenOptions } from '../database.ts'
import { createPlants } from '../shared/plants.ts'
import { REQUEST_PATIENCE } from '../shared/retry.ts'
import { readSecret } from '../shared/secret.ts'
import { createTokens } from '../shared/tokens.ts'
import { connectClient, type SqliteClient } from './client.ts'
import { databaseFile } from './connection/database-file.ts'
import { explainUnavailable, missingDatabase, toDatabaseError, toTemporaryFailure } from './connection/errors.ts'
import { retryWhileBusy } from './connection/retry-while-busy.ts'
import { readState } from './database-state.ts'
import { dialect, plantStatements } from './statements.ts'

/** Opens a SQLite file. */
export async function openDatabase(url: string, options: OpenOptions = {}): Promise<Database> {
  const file = databaseFile(url)
  if (!existsSync(file)) throw missingDatabase(file)
  try {
    return createDatabase(await connectClient(file, options.signal, options.patience), file, options)
  } catch (error) {
    options.signal?.throwIfAborted()
    throw toDatabaseError(error, file)
  }
}

function createDatabase(
  { loadPrisma, sql, whyUnwritable, close }: SqliteClient,
  file: string,
  { patience = REQUEST_PATIENCE, onRetry }: OpenOptions,
): Database {
  const retry = <Result>(run: () => Promise<Result>) => retryWhileBusy(run, { patience, onRetry })
  return {
    engine: 'sqlite',
    plants: createPlants(plantStatements, sql, retry),
    tokens: createTokens({ loadPrisma, sql, dialect, retry }),
    secret: (name) => retry(() => readSecret(sql, name)),

    async isEmpty() {
      const [row] = await sql.query<[number]>('SELECT EXISTS (SELECT 1 FROM "Token") OR EXISTS (SELECT 1 FROM "Plant")')
      return row?.[0] === 0
    },

    async whyUnavailable() {
      try {
        await sql.query('SELECT "seq" FROM "Plant" LIMIT 1')
      } catch (error) {
        return explainUnavailable(error)
      }
      return whyUnwritable()
    },

    failure: toTemporaryFailure,
    state: () => readState(file),
    close,
  }
}

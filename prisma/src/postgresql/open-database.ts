import type { SqlDriverAdapter } from '@prisma/driver-adapter-utils'
import type { Database, OpenOptions } from '../database.ts'
import type { PrismaClient } from '../generated/postgresql/client.ts'
import { REQUEST_PATIENCE, retryWhile } from '../shared/retry.ts'
import { readSecret } from '../shared/secret.ts'
import { createTokens } from '../shared/tokens.ts'
import { readState } from './connection/database-state.ts'
import { isTemporary, toDatabaseError, toTemporaryFailure } from './connection/errors.ts'
import { createPool, type Pool } from './connection/pool.ts'
import { checkPromises } from './connection/promises.ts'
import { retryWhileUnavailable } from './connection/retry-while-unavailable.ts'
import { describeDatabase, readServerAddress } from './connection/server-address.ts'
import { watchWrites } from './connection/write-watch.ts'
import { dialect } from './dialect.ts'
import { createPlants } from './plants.ts'

/** Opens a PostgreSQL database. */
export async function openDatabase(url: string, options: OpenOptions = {}): Promise<Database> {
  const address = readServerAddress(url)
  const name = describeDatabase(address)
  const pool = await createPool(address)
  try {
    await retryWhileUnavailable(() => checkPromises(pool, name), options.signal)
    return createDatabase(pool, options)
  } catch (error) {
    await pool.close()
    options.signal?.throwIfAborted()
    throw toDatabaseError(error, name)
  }
}

function createDatabase(pool: Pool, { patience = REQUEST_PATIENCE, onRetry }: OpenOptions): Database {
  const retry = <Result>(run: () => Promise<Result>) => retryWhile(isTemporary, run, { patience, onRetry })
  const { adapter: connection, sql, whyUnwritable } = watchWrites(pool)
  let prisma: Promise<PrismaClient> | undefined
  return {
    engine: 'postgresql',
    plants: createPlants(sql, retry),
    tokens: createTokens({ loadPrisma, sql, dialect, retry }),
    secret: (name) => retry(() => readSecret(sql, dialect, name)),

    isEmpty: () =>
      retry(async () => {
        const [row] = await sql.query<[boolean] & [never]>(
          'SELECT NOT EXISTS (SELECT 1 FROM "Token") AND NOT EXISTS (SELECT 1 FROM "Plant")',
        )
        return row?.[0] === true
      }),

    whyUnavailable: whyUnwritable,
    state: () => readState(sql),
    connections: pool.counts,
    failure: toTemporaryFailure,
    close: pool.close,
  }

  function loadPrisma(): Promise<PrismaClient> {
    prisma ??= createPrisma(connection)
    return prisma
  }
}

async function createPrisma(connection: SqlDriverAdapter): Promise<PrismaClient> {
  const { PrismaClient } = await import('../generated/postgresql/client.ts')
  const { provider, adapterName } = connection
  return new PrismaClient({ adapter: { provider, adapterName, connect: async () => connection } })
}

import { type Database, openDatabase } from '@plant-store/prisma'
import type { Express } from 'express'
import type { Logger } from 'pino'
import { type Authenticate, createAuthenticator } from './accounts/own-token.ts'
import { createTokenStore, type TokenStore } from './accounts/token-store.ts'
import { type AppDependencies, createApp } from './app.ts'
import { createLoadShedding } from './limits/load-shedding.ts'
import { createCursors } from './plants/cursor.ts'
import { createPlantStore } from './plants/plant-store.ts'
import type { Settings } from './settings/settings.ts'
import { busyRetried } from './telemetry/events.ts'
import type { Gauges } from './telemetry/metrics.ts'

/** Who is told what the service does. */
export type Observers = Pick<AppDependencies, 'logger' | 'traceRequest'>

type ServiceDependencies = Observers & Pick<AppDependencies, 'slowReaders'>

/** The app with everything that it works with. It listens nowhere. */
export interface Service {
  app: Express
  tokens: TokenStore
  gauges: Gauges
  /** Whether there is neither a token nor a plant yet. */
  isEmpty(): Promise<boolean>
  /** Why requests would fail now, in a sentence; undefined: they would not. Looked at once a second at most. */
  whyNotReady(): Promise<string | undefined>
  /** Closes the database. Call it once, after the last request has ended. */
  close(): Promise<void>
}

/** For how long a look at the database counts, in milliseconds: probes may come as often as they like. */
const LOOK_COUNTS_FOR = 1_000

/**
 * Opens the database, which is up to date, and makes the app over it.
 *
 * @param signal ends the wait for a database that another process has locked
 * @throws DatabaseError where the database cannot be used; the reason of the signal
 */
export async function createService(
  settings: Settings,
  dependencies: ServiceDependencies,
  signal?: AbortSignal,
): Promise<Service> {
  const database = await openDatabase(settings.databaseUrl, { signal, onRetry: () => busyRetried.publish(undefined) })
  try {
    return await createServiceOver(database, settings, dependencies)
  } catch (error) {
    await database.close()
    throw error
  }
}

async function createServiceOver(
  database: Database,
  settings: Settings,
  { logger, traceRequest, slowReaders }: ServiceDependencies,
): Promise<Service> {
  const { isEmpty, failure, whyUnavailable, logSize } = database
  const tokens = createTokenStore(database.tokens)
  const plants = createPlantStore(database.plants)
  const cursors = createCursors(() => database.secret('cursor'))
  const loadShedding = createLoadShedding(settings)
  const authenticate = await createAuthentication(settings, tokens, logger)
  return {
    app: createApp(
      { authenticate, plants, cursors, loadShedding, slowReaders, failure, logger, traceRequest },
      settings,
    ),
    tokens,
    gauges: {
      requestsInFlight: loadShedding.inFlight,
      waitingWrites: plants.waitingWrites,
      logSize,
    },
    isEmpty,
    whyNotReady: keepFor(LOOK_COUNTS_FOR, whyUnavailable),
    async close() {
      loadShedding.close()
      await database.close()
    },
  }
}

/** Our own tokens, and those of an issuer where the settings name one; without, nothing of that is even loaded. */
async function createAuthentication(
  { jwtIssuer: issuer, jwtAudience: audience, jwtJwksUrl: keysUrl }: Settings,
  tokens: TokenStore,
  logger: Logger,
): Promise<Authenticate> {
  const authenticateOwn = createAuthenticator(tokens)
  if (!issuer || !audience || !keysUrl) return authenticateOwn
  const { acceptJsonWebTokens } = await import('./accounts/json-web-token.ts')
  return acceptJsonWebTokens({ issuer, audience, keysUrl }, authenticateOwn, logger)
}

/** Runs a function again only once its last result is older than so many milliseconds. */
function keepFor<T>(milliseconds: number, run: () => Promise<T>): () => Promise<T> {
  let kept: Promise<T> | undefined
  let until = Number.POSITIVE_INFINITY
  return () => {
    if (kept && performance.now() <= until) return kept
    until = Number.POSITIVE_INFINITY
    kept = run().finally(() => {
      until = performance.now() + milliseconds
    })
    return kept
  }
}

import { modifiesPlants } from '@plant-store/contract'
import { openDatabase } from '@plant-store/prisma'
import type { Logger } from 'pino'
import type { FindToken } from './accounts/authentication.ts'
import { createTokenStore, findOwnToken } from './accounts/tokens.ts'
import { createRequestsInFlight } from './http/requests-in-flight.ts'
import { createCursors } from './plants/cursor.ts'
import { createPlantStore } from './plants/plant-store.ts'
import type { Settings } from './settings.ts'

/** What the app and the metrics work with. */
export type Dependencies = Awaited<ReturnType<typeof openDependencies>>

/** How long the readiness of the database is cached, in milliseconds: probes and scrapes may come as often as they like. */
const READINESS_TTL = 1_000

/**
 * Opens the database and puts together what works with it.
 *
 * @throws StorageError if the database cannot be used
 */
export async function openDependencies(settings: Settings, logger: Logger) {
  const verify = await loadVerifier(settings, logger)
  const opened = await openDatabase(settings.databaseUrl, {
    modifiesPlants,
    onWarning: (warning) => logger.warn(warning),
  })
  const database = { ...opened, whyUnavailable: cacheFor(READINESS_TTL, opened.whyUnavailable) }
  const cursors = createCursors(() => database.secret('cursor'))
  const tokens = createTokenStore(database.tokens)
  const findOwn = findOwnToken(tokens)
  // Own tokens have no dots, JSON Web Tokens have two.
  const findToken: FindToken = verify ? (token) => (token.includes('.') ? verify(token) : findOwn(token)) : findOwn
  return {
    database,
    tokens,
    findToken,
    plants: createPlantStore(database.plants, cursors),
    cursors,
    requestsInFlight: createRequestsInFlight(settings),
  }
}

/** Loads what verifies the tokens of an issuer, if the settings name one. */
async function loadVerifier(
  { jwtIssuer: issuer, jwtAudience: audience, jwtJwksUrl: keysUrl }: Settings,
  logger: Logger,
): Promise<FindToken | undefined> {
  if (!issuer || !audience || !keysUrl) return undefined
  const { verifyJsonWebToken } = await import('./accounts/json-web-token.ts')
  return verifyJsonWebToken({ issuer, audience, keysUrl }, logger)
}

/** Caches the result of a function, from its end, for a time in milliseconds. */
function cacheFor<T>(ttl: number, run: () => Promise<T>): () => Promise<T> {
  let cached: Promise<T> | undefined
  let staleAt = Number.POSITIVE_INFINITY
  return () => {
    if (cached && performance.now() <= staleAt) return cached
    staleAt = Number.POSITIVE_INFINITY
    cached = run().finally(() => {
      staleAt = performance.now() + ttl
    })
    return cached
  }
}

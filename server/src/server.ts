import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import { type Database, openDatabase } from '@plant-store/prisma'
import pino, { type Logger } from 'pino'
import type { FindToken } from './accounts/authentication.ts'
import { findOwnToken } from './accounts/own-token.ts'
import { createTokenStore, type TokenStore } from './accounts/token-store.ts'
import { createApp, createStartingApp } from './app.ts'
import { type AdminServer, startAdminServer } from './http/listen/admin-server.ts'
import { createHttpServer } from './http/listen/http-server.ts'
import { listen, stop, stopAccepting } from './http/listen/ports.ts'
import { createFairShare, SCARCE } from './limits/fair-share.ts'
import { createLoadShedding, type LoadShedding } from './limits/load-shedding.ts'
import { createResponseMemory } from './limits/response-memory.ts'
import { migrateAtStartup } from './migrate-at-startup.ts'
import { createCursors } from './plants/cursor.ts'
import { createPlantStore } from './plants/plant-store.ts'
import { readSettings, type Settings } from './settings/settings.ts'
import type { InheritedSockets } from './systemd/inherited-sockets.ts'
import { busyRetried } from './telemetry/events.ts'
import type { Metrics } from './telemetry/metrics/metrics.ts'

/** A server that handles requests. */
export interface RunningServer {
  /** Its URL, such as `http://127.0.0.1:3000`. */
  url: string
  /** The URL of the private port; undefined if there is none. */
  adminUrl: string | undefined
  tokens: TokenStore
  /** Whether there is neither a token nor a plant yet. */
  isEmpty(): Promise<boolean>
  /** Reports that it is not ready any more, waits for requests in flight, then closes the database. */
  close(): Promise<void>
}

/** What observes the server. */
export interface Observers {
  /** Default: silent. */
  logger: Logger
}

/** Options of a startup. */
export interface StartOptions {
  /** Aborts the startup, which then leaves nothing behind. */
  signal?: AbortSignal
  /** Where the migrations are; default: those of the plant store. */
  migrationsFolder?: string
  /** Sockets to listen on instead of the ports of the settings. */
  sockets?: InheritedSockets | undefined
}

/** How long a startup leaves connections waiting in an inherited socket, in milliseconds; then it responds 503. */
const MAX_SOCKET_WAIT = 10_000
/** How long the state of the database is cached, in milliseconds: probes and scrapes may come as often as they like. */
const DATABASE_STATE_TTL = 1_000

/**
 * Starts the server: ports, migrations, database, app. The ports come first, so that a startup that fails because of them
 * has changed nothing on disk.
 *
 * @param settings what differs from the defaults
 * @throws StartError; DatabaseError if the database cannot be used; the reason of the signal
 */
export async function startServer(
  settings: Partial<Settings> = {},
  observers: Partial<Observers> = {},
  { signal, migrationsFolder, sockets }: StartOptions = {},
): Promise<RunningServer> {
  const complete = { ...readSettings({}), ...settings }
  const { databaseUrl, host, port, adminHost, adminPort, shutdownDelay, shutdownTimeout } = complete
  const { logger = pino({ level: 'silent' }) } = observers
  const { server, slowReaders, use, openConnections, drain } = createHttpServer(complete)
  let admin: AdminServer | undefined
  let database: Database | undefined
  let loadShedding: LoadShedding | undefined
  let metrics: Metrics | undefined
  let measured: Metrics | undefined
  let whyDatabaseNotReady: (() => Promise<string | undefined>) | undefined
  let notReady: string | undefined = 'The server is starting.'
  let listening: Promise<string> | undefined
  // Connections in an inherited socket wait until the server is ready, but not for long.
  const socketWait = setTimeout(() => void listenOnce().catch(() => {}), MAX_SOCKET_WAIT)
  use(createStartingApp(complete))
  try {
    if (adminPort !== undefined || sockets?.admin !== undefined) metrics = await startMetrics(complete)
    if (sockets?.http === undefined) await listenOnce()
    if (adminPort !== undefined || sockets?.admin !== undefined) {
      const sources = { whyNotReady, metrics: () => measured }
      admin = await startAdminServer(sources, { host: adminHost, port: adminPort ?? 0, descriptor: sockets?.admin })
    }
    await migrateAtStartup(databaseUrl, {
      logger,
      migrationsFolder,
      onPending: () => {
        notReady = 'The server is migrating the database.'
      },
      signal,
    })
    const opened = await openDatabase(databaseUrl, { signal, onRetry: () => busyRetried.publish(undefined) })
    database = opened
    const { isEmpty, failure, whyUnavailable } = opened
    const requestCounts = complete.rateLimitShared ? opened.requestCounts : undefined
    const shedding = createLoadShedding(complete)
    loadShedding = shedding
    const tokens = createTokenStore(opened.tokens)
    const plants = createPlantStore(opened.plants)
    const cursors = createCursors(() => opened.secret('cursor'))
    const findToken = await createFindToken(complete, tokens, logger)
    whyDatabaseNotReady = cacheFor(DATABASE_STATE_TTL, whyUnavailable)
    const bodyMemory = createFairShare(complete.maxBodyMemory, SCARCE)
    const responseMemory = createResponseMemory(complete.maxResponseMemory)
    if (metrics) {
      metrics.addSources({
        engine: opened.engine,
        limits: complete,
        isReady: async () => (await whyNotReady()) === undefined,
        openConnections,
        requestsInFlight: shedding.inFlight,
        bodyMemory: bodyMemory.used,
        responseMemory: responseMemory.used,
        waitingWrites: plants.waitingWrites,
        databaseState: cacheFor(DATABASE_STATE_TTL, opened.state),
        databaseConnections: opened.connections,
        failure,
      })
      measured = metrics
    }
    signal?.throwIfAborted()
    use(
      createApp(
        {
          findToken,
          plants,
          cursors,
          requestCounts,
          loadShedding: shedding,
          slowReaders,
          bodyMemory,
          responseMemory,
          failure,
          logger,
        },
        complete,
      ),
      shedding.release,
    )
    const url = await listenOnce()
    notReady = undefined
    return { url, adminUrl: admin?.url, tokens, isEmpty, close }
  } catch (error) {
    await closeAll(0)
    throw error
  } finally {
    clearTimeout(socketWait)
  }

  function listenOnce(): Promise<string> {
    listening ??= listen(server, { host, port, descriptor: sockets?.http })
    return listening
  }

  async function whyNotReady(): Promise<string | undefined> {
    return notReady ?? (await whyDatabaseNotReady?.())
  }

  async function close(): Promise<void> {
    notReady = 'The server is shutting down.'
    drain()
    const begin = performance.now()
    const accepting = sockets?.http === undefined ? [] : [stopAccepting(server)]
    await Promise.race([sleep(Math.min(shutdownDelay, shutdownTimeout)), ...accepting])
    await closeAll(Math.max(0, shutdownTimeout - (performance.now() - begin)))
  }

  /** Closes what has been opened: the private port last, so that probes see the shutdown. */
  async function closeAll(timeout: number): Promise<void> {
    await stop(server, timeout)
    // The requests that it has aborted end after it.
    while (openConnections() > 0) await nextTurn()
    loadShedding?.close()
    await database?.close()
    metrics?.close()
    await admin?.close()
  }
}

/** Looks up the server's own tokens, and those of an issuer if the settings name one; otherwise nothing of that is loaded. */
async function createFindToken(
  { jwtIssuer: issuer, jwtAudience: audience, jwtJwksUrl: keysUrl }: Settings,
  tokens: TokenStore,
  logger: Logger,
): Promise<FindToken> {
  const findOwn = findOwnToken(tokens)
  if (!issuer || !audience || !keysUrl) return findOwn
  const { verifyJsonWebToken } = await import('./accounts/json-web-token.ts')
  const verify = verifyJsonWebToken({ issuer, audience, keysUrl }, logger)
  // Own tokens have no dots, JSON Web Tokens have two.
  return (token) => (token.includes('.') ? verify(token) : findOwn(token))
}

/** Loads metrics only if a port shows them. They count from before the first request, and are shown with the database. */
async function startMetrics({ publicUrl }: Settings): Promise<Metrics> {
  const { createMetrics } = await import('./telemetry/metrics/metrics.ts')
  return createMetrics(publicUrl?.startsWith('https:') ? 'https' : 'http')
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

import { setTimeout as sleep } from 'node:timers/promises'
import { type Database, migrateDatabase, nameDatabase, openDatabase } from '@plant-store/prisma'
import pino, { type Logger } from 'pino'
import type { FindToken } from './accounts/authentication.ts'
import { createOwnTokenLookup } from './accounts/tokens.ts'
import { type AdminSources, startAdminPort } from './connections/admin-port.ts'
import { createRequestsInFlight } from './connections/places.ts'
import { checkPort, type OpenPort } from './connections/ports.ts'
import { createCursors } from './plants/cursor.ts'
import { createPlantStore } from './plants/plant-store.ts'
import { readSettings, type Settings } from './settings.ts'

/** A server that handles requests. */
export interface RunningServer {
  /** Its URL, such as `http://127.0.0.1:3000`. */
  url: string
  /** The URL of the admin port; undefined if there is none. */
  adminUrl: string | undefined
  /** The tokens of all accounts; `createNewToken` adds one. */
  tokens: Database['tokens']
  /** Whether there is neither a token nor a plant yet. */
  isEmpty(): Promise<boolean>
  /** Reports that it is not ready any more, waits for requests in flight, then closes the database. */
  close(): Promise<void>
}

/** How long a startup waits for the database without a line of the log, in milliseconds. */
const SILENCE = 1_000
/**
 * How long the readiness of the database is cached, in milliseconds: probes and scrapes may come as often as they like.
 */
const READINESS_TTL = 1_000

/**
 * Starts the server: admin port, migrations, database, app, and the public port last: until then, connections fail,
 * which a balancer retries on another server.
 *
 * @param overrides the settings that are not the default
 * @param logger default: a silent one
 * @throws {OperatorError} if a port cannot be listened on
 * @throws {StorageError} if the database cannot be used
 */
export async function startServer(
  overrides: Partial<Settings> = {},
  logger: Logger = pino({ level: 'silent' }),
): Promise<RunningServer> {
  const settings = { ...readSettings({}), ...overrides }
  const sources: AdminSources = { whyNotReady: async () => 'The server is starting.' }
  /** What to close, in the reverse order: all of it, should this function throw. */
  await using opened = new AsyncDisposableStack()
  const admin = await startAdminPort(settings, sources)
  // These last, so that probes and scrapes see the shutdown.
  opened.defer(async () => admin?.close(0))
  opened.defer(() => sources.metrics?.close())
  // Check the ports first: a failed start leaves the database untouched.
  await checkPort(settings)
  // Loaded while threads look at the database and open it; the metrics only if there is a port to read them from.
  const loading = Promise.all([
    import('./app.ts'),
    import('./requests/public-port.ts'),
    admin && import('./telemetry/metrics.ts'),
  ])
  await migrate(settings.databaseUrl, logger, sources)
  const database = await openDatabase(settings.databaseUrl)
  opened.defer(database.close)
  if (database.warning !== undefined) logger.warn(database.warning)
  const cursors = createCursors(await database.secret('cursor'))
  const requestsInFlight = createRequestsInFlight(settings)
  const dependencies = {
    handlers: createPlantStore(database.plants, cursors),
    findToken: await createTokenLookup(database.tokens, settings, logger),
    requestsInFlight,
  }
  const [{ createApp }, { openPublicPort }, metrics] = await loading
  const port = await openPublicPort(createApp(dependencies, settings, logger), settings)
  if (metrics) {
    sources.metrics = metrics.createMetrics({
      engine: database.engine,
      isReady: async () => (await sources.whyNotReady()) === undefined,
      openConnections: port.connections.count,
      requestsInFlight: requestsInFlight.count,
    })
  }
  sources.whyNotReady = createReadiness(database)
  opened.defer(() => shutDown(port, settings, sources))
  const running = opened.move()
  return {
    url: port.url,
    adminUrl: admin?.url,
    tokens: database.tokens,
    isEmpty: database.isEmpty,
    close: () => running.disposeAsync(),
  }
}

/**
 * Shuts the public port down. It is
 *
 * - *draining*, during `shutdownDelay`: `/readyz` is a 503, for balancers to notice, requests are handled, and the
 *   response to each that arrives is the last one of its connection;
 * - *closing*, until no connection is left, at most for the rest of `shutdownTimeout`: none is accepted, idle ones are
 *   closed, and requests in flight get their responses;
 * - *closed*: the connections that are still open are, and then the database, the metrics and the admin port.
 */
async function shutDown(port: OpenPort, settings: Settings, sources: AdminSources): Promise<void> {
  sources.whyNotReady = async () => 'The server is shutting down.'
  port.connections.drain()
  const delay = Math.min(settings.shutdownDelay, settings.shutdownTimeout)
  await sleep(delay)
  await port.close(settings.shutdownTimeout - delay)
}

/** Applies the pending migrations, and logs them, one by one and once they are applied, and that it waits. */
async function migrate(databaseUrl: string, logger: Logger, sources: AdminSources): Promise<void> {
  const begin = performance.now()
  const logWaiting = () => logger.info({ database: nameDatabase(databaseUrl) }, 'waiting for the database')
  const timer = setTimeout(logWaiting, SILENCE)
  const onStep = (step: string) => {
    clearTimeout(timer)
    logger.info(step)
    sources.whyNotReady = async () => 'The server is migrating the database.'
  }
  const { applied } = await migrateDatabase(databaseUrl, undefined, onStep).finally(() => clearTimeout(timer))
  if (applied.length === 0) return
  const seconds = Math.round(performance.now() - begin) / 1_000
  logger.info({ migrations: applied, seconds }, 'database migrated')
}

/** Creates the readiness of the server, cached: why requests would fail. */
function createReadiness(database: Database): AdminSources['whyNotReady'] {
  let problem: Promise<string | undefined> | undefined
  const forget = () => {
    problem = undefined
  }
  return () => {
    problem ??= database.whyUnavailable().finally(() => setTimeout(forget, READINESS_TTL).unref())
    return problem
  }
}

/**
 * Creates the lookup of own tokens, which have no dots, and of JSON Web Tokens, which have two,
 * if the settings name an issuer.
 */
async function createTokenLookup(tokens: Database['tokens'], settings: Settings, logger: Logger): Promise<FindToken> {
  const findOwn = createOwnTokenLookup(tokens)
  const { jwtIssuer: issuer, jwtAudience: audience, jwtJwksUrl: keysUrl } = settings
  if (!issuer || !audience || !keysUrl) return findOwn
  const { createJsonWebTokenLookup } = await import('./accounts/json-web-token.ts')
  const verify = createJsonWebTokenLookup({ issuer, audience, keysUrl }, logger)
  return (token) => (token.includes('.') ? verify(token) : findOwn(token))
}

import { setTimeout as sleep } from 'node:timers/promises'
import { migrateDatabase, nameDatabase } from '@plant-store/prisma'
import pino, { type Logger } from 'pino'
import type { TokenStore } from './accounts/tokens.ts'
import { type Dependencies, openDependencies } from './dependencies.ts'
import { limitConnections } from './http/connections.ts'
import { createHttpServer, type HttpServer } from './http/http-server.ts'
import { checkPort, type OpenPort, openPublicPort, startAdminPort } from './http/ports.ts'
import { readSettings, type Settings } from './settings.ts'
import type { Metrics } from './telemetry/metrics.ts'

/** A server that handles requests. */
export interface RunningServer {
  /** Its URL, such as `http://127.0.0.1:3000`. */
  url: string
  /** The URL of the admin port; undefined if there is none. */
  adminUrl: string | undefined
  tokens: TokenStore
  /** Whether there is neither a token nor a plant yet. */
  isEmpty(): Promise<boolean>
  /** Reports that it is not ready any more, waits for requests in flight, then closes the database. */
  close(): Promise<void>
}

/** Options of a startup. */
export interface StartOptions {
  /** Default: silent. */
  logger?: Logger
}

/** How long a startup waits for the database without a line of the log, in milliseconds. */
const SILENCE = 1_000
/** How long a startup waits for the secret of cursors to be stored, in milliseconds: a slow database does not stop it. */
const SECRET_PATIENCE = 1_000

/**
 * Starts the server: admin port, migrations, database, app, and the public port last: until then, connections fail,
 * which a balancer retries on another server.
 *
 * @param overrides the settings that are not the default
 * @throws OperatorError if a port cannot be listened on; StorageError if the database cannot be used
 */
export async function startServer(
  overrides: Partial<Settings> = {},
  { logger = pino({ level: 'silent' }) }: StartOptions = {},
): Promise<RunningServer> {
  const settings = { ...readSettings({}), ...overrides }
  const { databaseUrl, adminHost, adminPort } = settings
  const publicPort = { host: settings.host, port: settings.port }
  let notReady: string | undefined = 'The server is starting.'
  let admin: OpenPort | undefined
  let dependencies: Dependencies | undefined
  let http: HttpServer | undefined
  let open: OpenPort | undefined
  let metrics: Metrics | undefined

  async function whyNotReady(): Promise<string | undefined> {
    return notReady ?? (await dependencies?.database.whyUnavailable())
  }

  async function close(): Promise<void> {
    notReady = 'The server is shutting down.'
    http?.drain()
    const begin = performance.now()
    await sleep(Math.min(settings.shutdownDelay, settings.shutdownTimeout))
    await closeAll(Math.max(0, settings.shutdownTimeout - (performance.now() - begin)))
  }

  /** Closes what has been opened: the admin port last, so that probes see the shutdown. */
  async function closeAll(timeout: number): Promise<void> {
    await open?.close(timeout)
    await dependencies?.database.close()
    metrics?.close()
    await admin?.close(0)
  }

  try {
    if (adminPort !== undefined) {
      admin = await startAdminPort({ host: adminHost, port: adminPort }, whyNotReady, () => metrics)
    }
    // Check the ports first: a failed start leaves the database untouched.
    await checkPort(publicPort)
    // Loaded while threads look at the database and open it.
    const loadingApp = import('./app.ts')
    await migrate(databaseUrl, logger, () => {
      notReady = 'The server is migrating the database.'
    })
    dependencies = await openDependencies(settings, logger)
    // The pages of this server then need no write, which fails while the disk does not respond.
    await Promise.race([dependencies.cursors.prepare(), sleep(SECRET_PATIENCE, undefined, { ref: false })])
    const { createApp } = await loadingApp
    const limited = { ...settings, maxConnections: limitConnections(settings.maxConnections, logger) }
    http = createHttpServer(createApp(dependencies, settings, logger), limited)
    if (admin) {
      // The metrics are loaded only if there is an admin port to read them from.
      const { createMetrics } = await import('./telemetry/metrics.ts')
      const isReady = async () => (await whyNotReady()) === undefined
      const { database, requestsInFlight } = dependencies
      metrics = createMetrics({
        engine: database.engine,
        isReady,
        logBytes: database.logBytes,
        openConnections: http.connections.count,
        requestsInFlight: requestsInFlight.count,
      })
    }
    open = await openPublicPort(http.server, http.connections, publicPort)
    notReady = undefined
    const { plants, tokens } = dependencies.database
    const isEmpty = async () => (await plants.isEmpty()) && (await tokens.isEmpty())
    return { url: open.url, adminUrl: admin?.url, tokens: dependencies.tokens, isEmpty, close }
  } catch (error) {
    await closeAll(0)
    throw error
  }
}

/** Applies the pending migrations and logs them, before and after, and that it waits; `begin` is called if there are any. */
async function migrate(databaseUrl: string, logger: Logger, begin: () => void): Promise<void> {
  const startedAt = performance.now()
  const logWaiting = () => logger.info({ database: nameDatabase(databaseUrl) }, 'waiting for the database')
  const timer = setTimeout(logWaiting, SILENCE)
  const onPending = (migrations: string[], isNew: boolean) => {
    clearTimeout(timer)
    logger.info(
      { migrations },
      isNew ? 'creating the tables' : 'migrating the database; with many plants, this takes minutes',
    )
    begin()
  }
  const { applied } = await migrateDatabase(databaseUrl, undefined, { onPending }).finally(() => clearTimeout(timer))
  if (applied.length === 0) return
  const seconds = Math.round(performance.now() - startedAt) / 1_000
  logger.info({ migrations: applied, seconds }, 'database migrated')
}

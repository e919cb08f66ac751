import { setTimeout as sleep } from 'node:timers/promises'
import pino from 'pino'
import type { TokenStore } from './accounts/token-store.ts'
import { type AdminServer, startAdminServer } from './http/listen/admin-server.ts'
import { createHttpServer, listen, stop } from './http/listen/http-server.ts'
import { type InheritedSockets, listenOnInherited, stopAccepting } from './http/listen/inherited-sockets.ts'
import { migrateAtStartup } from './migrate-at-startup.ts'
import { createService, type Observers, type Service } from './service.ts'
import { readSettings, type Settings } from './settings/settings.ts'
import { StartError } from './start-error.ts'
import type { Metrics } from './telemetry/metrics.ts'

/** A server that answers. */
export interface RunningServer {
  /** The address it listens on, such as `http://127.0.0.1:3000`. */
  url: string
  /** The address of the private port; undefined where there is none. */
  adminUrl: string | undefined
  tokens: TokenStore
  /** Whether there is neither a token nor a plant yet. */
  isEmpty(): Promise<boolean>
  /** Tells that it is not ready any more, lets requests under way end, then closes the database. */
  close(): Promise<void>
}

/** What else a start may be given. */
export interface StartOptions {
  /** Ends the start, which then leaves nothing behind. */
  signal?: AbortSignal
  /** Where the migrations are; default: those of the plant store. */
  migrationsFolder?: string
  /** Sockets to listen on instead of the ports of the settings. */
  sockets?: InheritedSockets | undefined
}

/** How long a start leaves connections waiting in an inherited socket, in milliseconds; then it responds 503 to them. */
const QUEUE_PATIENCE = 10_000

/**
 * Starts the service: takes the ports, brings the database up to date, answers. The ports come first, so that a start
 * that fails for them has changed nothing on disk.
 *
 * @param settings what differs from the defaults
 * @param observers who is told of what happens; default: nobody
 * @throws StartError, or DatabaseError where the database cannot be used; the reason of the signal
 */
export async function startServer(
  settings: Partial<Settings> = {},
  observers: Partial<Observers> = {},
  { signal, migrationsFolder, sockets }: StartOptions = {},
): Promise<RunningServer> {
  const complete = { ...readSettings({}), ...settings }
  const completeObservers = { logger: pino({ level: 'silent' }), traceRequest: undefined, ...observers }
  const { host, port, adminHost, adminPort } = complete
  const { server, slowReaders, use, drain } = createHttpServer(complete)
  let admin: AdminServer | undefined
  let service: Service | undefined
  let metrics: Metrics | undefined
  let notReady: string | undefined = 'The server is starting.'
  let listening: Promise<string> | undefined
  // What waits in an inherited socket is served when the service has started, unless that takes long.
  const impatience = setTimeout(() => void listenHere().catch(() => {}), QUEUE_PATIENCE)
  try {
    if (sockets?.http === undefined) await listenHere()
    if (adminPort !== undefined || sockets?.admin !== undefined) admin = await startAdmin()
    await migrateAtStartup(complete.databaseUrl, {
      logger: completeObservers.logger,
      migrationsFolder,
      onPending: () => {
        notReady = 'The server is migrating the database.'
      },
      signal,
    })
    service = await createService(complete, { ...completeObservers, slowReaders }, signal)
    if (admin) metrics = await startMetrics(service)
    signal?.throwIfAborted()
    use(service.app)
    const url = await listenHere()
    notReady = undefined
    const { tokens, isEmpty } = service
    return { url, adminUrl: admin?.url, tokens, isEmpty, close }
  } catch (error) {
    metrics?.close()
    await Promise.all([stop(server, 0), admin?.close(), service?.close()])
    throw error
  } finally {
    clearTimeout(impatience)
  }

  function listenHere(): Promise<string> {
    listening ??=
      sockets?.http === undefined
        ? takePort('', host, port, () => listen(server, port, host))
        : listenOnInherited(server, sockets.http)
    return listening
  }

  function startAdmin(): Promise<AdminServer> {
    const sources = { whyNotReady, metrics: () => metrics }
    const descriptor = sockets?.admin
    return descriptor === undefined
      ? takePort('ADMIN_', adminHost, adminPort ?? 0, () =>
          startAdminServer(sources, (adminServer) => listen(adminServer, adminPort ?? 0, adminHost)),
        )
      : startAdminServer(sources, (adminServer) => listenOnInherited(adminServer, descriptor))
  }

  async function whyNotReady(): Promise<string | undefined> {
    return notReady ?? (await service?.whyNotReady())
  }

  async function close(): Promise<void> {
    notReady = 'The server is closing.'
    drain()
    const begin = performance.now()
    const delay = Math.min(complete.shutdownDelay, complete.shutdownTimeout)
    const closed = sockets?.http === undefined ? [] : [stopAccepting(server)]
    await Promise.race([sleep(delay), ...closed])
    await stop(server, Math.max(0, complete.shutdownTimeout - (performance.now() - begin)))
    await service?.close()
    metrics?.close()
    await admin?.close()
  }
}

/** Without a port that shows them, nothing of metrics is even loaded. */
async function startMetrics({ gauges }: Service): Promise<Metrics> {
  const { createMetrics } = await import('./telemetry/metrics.ts')
  return createMetrics(gauges)
}

/** Takes a port, or says which setting to change. */
async function takePort<T>(prefix: '' | 'ADMIN_', host: string, port: number, take: () => Promise<T>): Promise<T> {
  try {
    return await take()
  } catch (error) {
    throw new StartError(explainListenError(error, prefix, host, port), { cause: error })
  }
}

function explainListenError(error: unknown, prefix: string, host: string, port: number): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  const [hostSetting, portSetting] = [`${prefix}HOST`, `${prefix}PORT`]
  if (code === 'EADDRINUSE') {
    return `${portSetting} ${port} on ${host} is taken by another program. Stop that one or set another ${portSetting}.`
  }
  if (code === 'EACCES') return `${portSetting} ${port} may not be used by this user. Set a ${portSetting} above 1023.`
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND') {
    return `${hostSetting} ${host} is no address of this machine. Set ${hostSetting} to one that is.`
  }
  return `The server cannot listen on ${hostSetting} ${host}, ${portSetting} ${port}: ${code ?? error}.`
}

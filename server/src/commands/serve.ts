import { isatty } from 'node:tty'
import { setFlagsFromString } from 'node:v8'
import { explainDatabaseError, nameDatabase } from '@plant-store/prisma'
import type { Logger } from 'pino'
import { takeInheritedSockets } from '../http/listen/ports.ts'
import { ownCommand } from '../installation.ts'
import type { Settings } from '../settings.ts'
import { type RunningServer, startServer } from '../start-server.ts'
import { logOutput, STANDARD_OUTPUT } from '../telemetry/log/log-output.ts'
import { logAuthenticationFailures, logRejections, logRequests } from '../telemetry/log/log-requests.ts'
import { type Context, isClosed, OutputError, print, printError } from './console.ts'
import { onEndingSignal } from './process.ts'
import { createPrinted } from './token.ts'

/**
 * By default V8 lets the heap grow to several times what is in use before it collects garbage. With this, the process stays
 * at 216 MB in a mixed load of two minutes instead of growing from 234 to 266, and serves as many requests (Node.js 24).
 */
const HEAP_GROWTH = '--heap-growing-percent=50'
const DAY = 86_400_000
/** How many days the token of the first startup is valid. */
const DEMO_DAYS = 7

/**
 * Serves until a signal. On an empty database it prints how to begin.
 *
 * @throws StartError, or an error of the database, with everything closed
 */
export async function serve({ settings, logger }: Context): Promise<void> {
  setFlagsFromString(HEAP_GROWTH)
  const startup = new AbortController()
  const starting = start(settings, logger, startup.signal)
  shutDownOnSignal(async () => {
    startup.abort()
    // A startup that fails, or is aborted, has closed everything.
    const close = await starting.catch(() => undefined)
    await close?.()
  }, logger)
  try {
    await starting
  } catch (error) {
    if (!startup.signal.aborted) throw error
  }
}

/** Starts everything and returns a function that closes it. */
async function start(settings: Settings, logger: Logger, signal: AbortSignal): Promise<() => Promise<void>> {
  const sockets = takeInheritedSockets(process.env, process.pid)
  if (sockets) logger.info({ sockets }, 'listening on sockets of systemd instead of the ports of the settings')
  const stopLogs = startLogs(settings, logger)
  const server = await startServer(settings, { logger, signal, sockets }).catch(async (error) => {
    await stopLogs()
    throw error
  })
  await greetIfEmpty(server, settings, logger, signal)
  const { url, adminUrl } = server
  if (!signal.aborted) {
    logger.info({ url, ...(adminUrl && { adminUrl }), database: nameDatabase(settings.databaseUrl) }, 'ready')
  }
  return async () => {
    await server.close()
    await stopLogs()
  }
}

/**
 * Prints how to begin if the database is empty: a token and calls that work as pasted. In production, where others read the
 * output, a line of the log says how to create one instead. A greeting that fails is logged: the server serves without it.
 *
 * @param signal no token is printed, or stays valid, once it is aborted
 */
async function greetIfEmpty(
  server: RunningServer,
  settings: Settings,
  logger: Logger,
  signal: AbortSignal,
): Promise<void> {
  try {
    if (!(await server.isEmpty())) return
    if (settings.nodeEnv === 'production') {
      logger.info({ event: 'empty database' }, `the plant store is empty: ${explainTokens()}`)
      return
    }
    if (isClosed() || signal.aborted) return
    const expiresAt = new Date(Date.now() + DEMO_DAYS * DAY)
    const newToken = { account: 'demo', label: 'printed at the first startup', expiresAt }
    await createPrinted(server.tokens, newToken, logger, ({ token }) => {
      signal.throwIfAborted()
      print(explainCalls(server.url, token, settings.docs))
    })
  } catch (error) {
    if (signal.aborted) return
    const { message } = (await explainDatabaseError(error, settings.databaseUrl)) as Error
    // The log is written to the output that has failed.
    if (error instanceof OutputError) printError(`plant-store: no token was printed: ${message}`)
    else logger.warn(`no token was printed: ${message}; ${explainTokens()}`)
  }
}

function explainCalls(url: string, token: string, docs: boolean): string {
  return `
The plant store is empty. This token of the account "demo" is shown only once and expires in ${DEMO_DAYS} days:

  ${token}

Create a plant, then list it:

  curl -sS ${url}/plants -H "Authorization: Bearer ${token}" -H "Content-Type: application/json" -d "{\\"id\\": 1, \\"name\\": \\"Monstera deliciosa\\", \\"tag\\": \\"aroid\\"}"
  curl -sS ${url}/plants -H "Authorization: Bearer ${token}"
${docs ? `\nOr open ${url}/docs in a browser.\n` : ''}`
}

function explainTokens(): string {
  const command = `"${ownCommand} token create --account me"`
  if (ownCommand === 'plant-store') return `create a token with ${command}`
  // The shell that the command is pasted into does not have the server's settings.
  return `create a token, in the same folder, with ${command} and the same DATABASE_URL in the environment`
}

/** Starts the logs of what happens to requests, and returns a function that ends them. */
function startLogs({ accessLog }: Settings, logger: Logger): () => Promise<void> {
  const { hasRoom, flush } = logOutput(STANDARD_OUTPUT)
  const ends = [logRejections(logger), logAuthenticationFailures(logger)]
  if (accessLog) ends.push(logRequests(logger, hasRoom))
  return () => {
    for (const end of ends) end()
    return flush()
  }
}

/**
 * Shuts the process down: on a signal, with exit code 0; after an uncaught exception, with 1, since it leaves an unknown
 * state. A second signal ends the process immediately.
 */
function shutDownOnSignal(close: () => Promise<void>, logger: Logger): void {
  let closing = false
  const hasTerminal = isatty(0)
  const shutDown = async (exitCode: number): Promise<void> => {
    if (closing) process.exit(1)
    closing = true
    try {
      await close()
      process.exitCode = exitCode
    } catch (error) {
      logger.fatal({ err: error }, 'closing failed')
      process.exitCode = 1
    }
    // What is still open must not keep the process running.
    process.exit()
  }
  onEndingSignal((signal) => {
    // Without a terminal that can close, SIGHUP usually means that settings should be read again.
    if (signal === 'SIGHUP' && !hasTerminal) {
      logger.info({ signal }, 'signal ignored: restart the server to change its settings')
      return
    }
    // The terminal is gone, so writing to it would be an uncaught error.
    if (signal === 'SIGHUP') logger.level = 'silent'
    logger.info({ signal }, 'closing')
    void shutDown(0)
  })
  process.on('uncaughtException', (error) => {
    logger.fatal({ err: error }, 'uncaught exception, shutting down')
    if (!closing) void shutDown(1)
  })
}

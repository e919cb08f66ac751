import { setFlagsFromString } from 'node:v8'
import { nameDatabase } from '@plant-store/prisma'
import { createNewToken, logTokenEvent } from '../accounts/tokens.ts'
import { DAY } from '../durations.ts'
import { ownCommand } from '../installation.ts'
import { type RunningServer, startServer } from '../start-server.ts'
import { logRejections, logRequests } from '../telemetry/log.ts'
import type { Context } from './context.ts'
import { onFirstSignal } from './signals.ts'

/**
 * By how much V8 lets the heap grow before it collects all garbage. Less keeps less memory, but each time requests wait
 * for 10 to 30 ms on one core: with half of it, the slowest hundredth of creates takes 16 to 22 ms instead of 9 to 13.
 * By default V8 grows it to several times its size: some 15 MB more for 500 long lists (Node.js 24).
 */
const HEAP_GROWTH = '--heap-growing-percent=100'
/** How many days the token of the first startup is valid. */
const DEMO_DAYS = 7

/**
 * Serves until a signal, and then shuts down. On an empty database it prints how to begin.
 *
 * @throws {OperatorError} if a port cannot be listened on, an error of the database, or an uncaught exception, which
 *   leaves an unknown state, with everything closed
 */
export async function serve(context: Context): Promise<void> {
  const { settings, logger } = context
  setFlagsFromString(HEAP_GROWTH)
  const exceptions: unknown[] = []
  const { promise: stopping, resolve: stop } = Promise.withResolvers<void>()
  onFirstSignal((signal) => {
    logger.info({ signal }, 'closing')
    stop()
  })
  // Node.js raises a rejection that is not handled as one, too.
  process.on('uncaughtException', (error) => {
    logger.fatal({ err: error }, 'uncaught exception, shutting down')
    exceptions.push(error)
    stop()
  })
  logRejections(logger)
  if (logger.isLevelEnabled('debug')) logRequests(logger)

  const starting = startServer(settings, logger)
  const server = await Promise.race([starting, stopping])
  if (server) {
    // A database that does not respond does not delay the shutdown.
    await Promise.race([announce(server, context), stopping])
    await stopping
    await server.close()
  } else {
    // A startup has nothing to finish: it ends with the process.
    starting.catch(() => {})
  }
  if (exceptions.length > 0) throw exceptions[0]
}

/** Says that the server is ready, and where. */
async function announce(server: RunningServer, context: Context): Promise<void> {
  const { settings, logger } = context
  await greetIfEmpty(server, context)
  const { url, adminUrl } = server
  const links = { url, ...(settings.docs && { docs: `${url}/docs` }), ...(adminUrl && { adminUrl }) }
  logger.info({ ...links, database: nameDatabase(settings.databaseUrl) }, 'ready')
}

/**
 * Prints how to begin if the database is empty: a token and calls that work as pasted. In production, where
 * others read the output, a line of the log says how to create one instead. A greeting that fails is
 * logged: the server serves without it.
 */
async function greetIfEmpty(server: RunningServer, { settings, logger, print }: Context): Promise<void> {
  try {
    if (!(await server.isEmpty())) return
    if (settings.nodeEnv === 'production') {
      logger.info({ event: 'empty database' }, `the plant store is empty: ${explainTokens()}`)
      return
    }
    const expiresAt = new Date(Date.now() + DEMO_DAYS * DAY)
    const demo = { account: 'demo', label: 'printed at the first startup', expiresAt }
    const created = await createNewToken(server.tokens, demo)
    logTokenEvent(logger, 'token created', created)
    await print(explainCalls(server.url, created.token))
  } catch (error) {
    const { message } = error as Error
    logger.warn(`no token was printed: ${message}; ${explainTokens()}`)
  }
}

function explainCalls(url: string, token: string): string {
  return `
The plant store is empty. This token of the account "demo" is shown only once and expires in ${DEMO_DAYS} days:

  ${token}

Create a plant, then list it:

  curl -sS ${url}/plants -H "Authorization: Bearer ${token}" -H "Content-Type: application/json" -d "{\\"id\\": 1, \\"name\\": \\"Monstera deliciosa\\", \\"tag\\": \\"aroid\\"}"
  curl -sS ${url}/plants -H "Authorization: Bearer ${token}"
`
}

/** The shell that the command is pasted into may not have the settings, which the command of a release knows. */
function explainTokens(): string {
  return `create a token with "${ownCommand} token create --account me" and the settings of this server`
}

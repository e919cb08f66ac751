import { setFlagsFromString } from 'node:v8'
import type { Logger } from 'pino'
import type { Settings } from '../settings.ts'
import { type RunningServer, startServer } from '../start-server.ts'
import { logRejections } from '../telemetry/log-rejections.ts'
import { startTracing } from '../telemetry/tracing.ts'

/**
 * Left to itself, V8 lets the heap grow to several times what is in use before it collects what a long list leaves
 * behind: a list of a million plants then takes 130 MB over idle, and 40 MB with this, in the same time (Node.js 20).
 */
const HEAP_GROWTH = '--heap-growing-percent=50'

/** Serves until the process is told to end. On an empty database it prints a token and a call that works as pasted. */
export async function serve(settings: Settings, logger: Logger): Promise<void> {
  setFlagsFromString(HEAP_GROWTH)
  const tracing = await startTracing(process.env)
  const endLogOfRejections = logRejections(logger)
  const server = await startServer(settings, { logger, traceRequest: tracing?.middleware })
  endInOrder(async () => {
    await server.close()
    endLogOfRejections()
    await tracing?.close()
  }, logger)
  if (await server.isEmpty()) await greet(server, settings)
  logger.info({ url: server.url, ...(server.adminUrl && { adminUrl: server.adminUrl }) }, 'ready')
}

/**
 * Ends the process in order: when it is told to, with 0; after an error that nobody has caught, with 1, since nobody
 * knows what state it has left behind. Told a second time, it ends at once.
 */
function endInOrder(close: () => Promise<void>, logger: Logger): void {
  let ending = false
  const end = async (exitCode: number): Promise<void> => {
    if (ending) process.exit(1)
    ending = true
    try {
      await close()
      process.exitCode = exitCode
    } catch (error) {
      logger.fatal({ err: error }, 'closing failed')
      process.exitCode = 1
    }
    // Whatever else is open holds the process no longer.
    process.exit()
  }
  const endOnSignal = (signal: NodeJS.Signals): void => {
    logger.info({ signal }, 'closing')
    void end(0)
  }
  process
    .on('SIGINT', endOnSignal)
    .on('SIGTERM', endOnSignal)
    .on('uncaughtException', (error) => {
      logger.fatal({ err: error }, 'an error that nobody has caught: closing')
      if (!ending) void end(1)
    })
}

async function greet({ url, tokens }: RunningServer, { docs }: Settings): Promise<void> {
  const { token } = await tokens.create({ account: 'demo', label: 'printed at the first start' })
  console.log(`
The plant store is empty. This token of the account "demo" is shown once:

  ${token}

Create a plant, then list it:

  curl -sS ${url}/plants -H "Authorization: Bearer ${token}" -H "Content-Type: application/json" -d "{\\"id\\": 1, \\"name\\": \\"Monstera deliciosa\\", \\"tag\\": \\"aroid\\"}"
  curl -sS ${url}/plants -H "Authorization: Bearer ${token}"
${docs ? `\nOr open ${url}/docs in a browser.\n` : ''}`)
}

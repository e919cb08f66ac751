import { isatty } from 'node:tty'
import { setFlagsFromString } from 'node:v8'
import type { Logger } from 'pino'
import { takeInheritedSockets } from '../http/listen/inherited-sockets.ts'
import { type RunningServer, startServer } from '../server.ts'
import type { Settings } from '../settings/settings.ts'
import { logRejections } from '../telemetry/log-rejections.ts'
import { startTracing } from '../telemetry/tracing.ts'
import { greet } from './greet.ts'
import { onEndingSignal } from './signals.ts'

/**
 * Left to itself, V8 lets the heap grow to several times what is in use before it collects what a long list leaves
 * behind: a list of a million plants then takes 130 MB over idle, and 40 MB with this, in the same time (Node.js 20).
 */
const HEAP_GROWTH = '--heap-growing-percent=50'

/**
 * Serves until the process is told to end. On an empty database it says how to begin.
 *
 * @throws StartError, or an error of the database: then it has let go of everything
 */
export async function serve(settings: Settings, logger: Logger): Promise<void> {
  setFlagsFromString(HEAP_GROWTH)
  const startup = new AbortController()
  const starting = start(settings, logger, startup.signal)
  endInOrder(async () => {
    startup.abort()
    // A start that is ended, or fails, has closed what it had opened.
    const close = await starting.catch(() => undefined)
    await close?.()
  }, logger)
  try {
    await starting
  } catch (error) {
    if (!startup.signal.aborted) throw error
  }
}

/** Starts everything and gives what closes it. */
async function start(settings: Settings, logger: Logger, signal: AbortSignal): Promise<() => Promise<void>> {
  const sockets = takeInheritedSockets(process.env, process.pid)
  if (sockets) logger.info({ sockets }, 'listening on sockets of systemd instead of the ports of the settings')
  const tracing = await startTracing(settings, logger)
  const endLogOfRejections = logRejections(logger)
  const server = await startServer(settings, { logger, traceRequest: tracing?.middleware }, { signal, sockets })
  const close = async () => {
    await server.close()
    endLogOfRejections()
    await tracing?.close()
  }
  try {
    await Promise.race([greetFirst(server, settings, logger), abortion(signal)])
  } catch (error) {
    await close()
    throw error
  }
  logger.info({ url: server.url, ...(server.adminUrl && { adminUrl: server.adminUrl }) }, 'ready')
  return close
}

async function greetFirst(server: RunningServer, settings: Settings, logger: Logger): Promise<void> {
  if (await server.isEmpty()) await greet(server, settings, logger)
}

/** Rejects with the reason of a signal once it is aborted. */
function abortion(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason))
  })
}

/**
 * Ends the process in order: when it is told to, with 0; after an error that nobody has caught, with 1, since nobody
 * knows what state it has left behind. Told a second time, it ends at once.
 */
function endInOrder(close: () => Promise<void>, logger: Logger): void {
  let ending = false
  const hasTerminal = isatty(0)
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
  onEndingSignal((signal) => {
    // Where no terminal can close, it is sent by who expects settings to be read again, not the service to end.
    if (signal === 'SIGHUP' && !hasTerminal) {
      logger.info({ signal }, 'signal ignored: restart the server to change its settings')
      return
    }
    // There is nothing left to write to: to try would be an error that nobody catches.
    if (signal === 'SIGHUP') logger.level = 'silent'
    logger.info({ signal }, 'closing')
    void end(0)
  })
  process.on('uncaughtException', (error) => {
    logger.fatal({ err: error }, 'an error that nobody has caught: closing')
    if (!ending) void end(1)
  })
}

/**
 * The signals that the process gets, and the arguments that others see of it.
 *
 * Signals are handled from the moment this module is loaded, which is before anything else: the first process of a container
 * gets only the signals that it has a handler for.
 */
import inspector from 'node:inspector'
import { constants } from 'node:os'

type Listener = (signal: NodeJS.Signals) => void

/** Sent by Ctrl+C, by a service manager, and by a terminal that closes. */
const ENDING_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
/** Everything after `://` on a line: where a password begins and ends is uncertain in an invalid URL. */
const AFTER_SCHEME = /(?<=:\/\/).*/g

// The exit code is what shells report for a process that the signal has ended.
const endProcess: Listener = (signal) => process.exit(128 + constants.signals[signal])
let listener = endProcess
for (const signal of ENDING_SIGNALS) process.on(signal, (name) => listener(name))

// Replaces the handler of Node.js, which opens a debugger in production too. Read late, since .env may set NODE_ENV.
process.on('SIGUSR1', () => {
  if (process.env['NODE_ENV'] !== 'production' && !inspector.url()) inspector.open()
})

/** Sets what SIGINT, SIGTERM and SIGHUP do. By default they end the process immediately. */
export function onEndingSignal(listen: Listener): void {
  listener = listen
}

/** Runs a command that signals abort: after it has cleaned up, the process ends as if by the signal. */
export async function untilSignal(command: (signal: AbortSignal) => Promise<void>): Promise<void> {
  const controller = new AbortController()
  let received: NodeJS.Signals | undefined
  onEndingSignal((signal) => {
    received = signal
    controller.abort()
  })
  try {
    await command(controller.signal)
  } catch (error) {
    if (received) endProcess(received)
    throw error
  } finally {
    listener = endProcess
  }
}

/** Removes what may contain a password from a text, such as an argument or an error about one. */
export function hideUrls(text: string): string {
  return text.replace(AFTER_SCHEME, '***')
}

/** Replaces the arguments that `ps` shows of this process if a URL is among them. */
export function hideUrlsFromProcessList(): void {
  const args = process.argv.slice(2)
  const hidden = args.map(hideUrls)
  if (hidden.join() !== args.join()) process.title = ['plant-store', ...hidden].join(' ')
}

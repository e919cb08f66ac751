/**
 * What a command does about signals, from the moment this module is loaded, which is before anything else: the first
 * process of a container gets only those signals that it has a handler for.
 */
import inspector from 'node:inspector'
import { constants } from 'node:os'

type Listener = (signal: NodeJS.Signals) => void

/** Ctrl+C, a service manager, and a terminal that closes. */
const ENDING_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

let listener: Listener = (signal) => process.exit(exitCodeOf(signal))
for (const signal of ENDING_SIGNALS) process.on(signal, (name) => listener(name))

// Without this, Node.js opens a debugger for whoever is on the machine. NODE_ENV may come from .env, so it is read late.
process.on('SIGUSR1', () => {
  if (process.env['NODE_ENV'] !== 'production' && !inspector.url()) inspector.open()
})

/** Sets what a signal does that ends a process (SIGINT, SIGTERM, SIGHUP). By default it ends at once. */
export function onEndingSignal(listen: Listener): void {
  listener = listen
}

/** Runs a command that a signal ends: once it has cleaned up, the process ends as if by that signal. */
export async function untilSignal(command: (signal: AbortSignal) => Promise<void>): Promise<void> {
  const interruption = new AbortController()
  let received: NodeJS.Signals | undefined
  onEndingSignal((signal) => {
    received = signal
    interruption.abort()
  })
  try {
    await command(interruption.signal)
  } catch (error) {
    if (received) process.exit(exitCodeOf(received))
    throw error
  }
}

/** The exit code that shells give a process which a signal has ended. */
function exitCodeOf(signal: NodeJS.Signals): number {
  return 128 + constants.signals[signal]
}

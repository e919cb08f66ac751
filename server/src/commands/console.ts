/**
 * What commands work with, terminals and signals. These are handled from the moment this module is loaded, before anything else
 * that takes time to load: the first process of a container gets only the signals that it has a handler for.
 */
import { constants as access, accessSync } from 'node:fs'
import { constants } from 'node:os'
import type { Logger } from 'pino'
import type { Settings } from '../settings.ts'

/** What a command works with. */
export interface Context {
  settings: Settings
  logger: Logger
  /** Prints the result of the command to standard output. */
  print(text: string): Promise<void>
  /** Shows on standard error what the command does now, and how far that is, once it takes long. */
  progress(text: string): void
  /** Whether standard output is a terminal. */
  isTerminal: boolean
}

/** A terminal of Node.js, with the handle of libuv. */
type Terminal = NodeJS.WriteStream & { fd: number; _handle?: { setBlocking(blocking: boolean): void } }

for (const stream of [process.stdout, process.stderr]) stopBlocking(stream)

/**
 * Lets what is written to a terminal wait in memory, as for a pipe: by default, one that does not read (Ctrl+S, a frozen ssh)
 * stops the event loop, and SIGTERM with it. libuv has opened the terminal again, so this changes only this process. Where it
 * may not, such as after `su`, writes still block.
 */
function stopBlocking(stream: Terminal): void {
  if (!stream.isTTY) return
  try {
    accessSync(`/dev/fd/${stream.fd}`, access.W_OK)
    stream._handle?.setBlocking(false)
  } catch {
    // It belongs to another user, or this is Windows, where these writes do not block.
  }
}

/** Sent by Ctrl+C, by a service manager, and by a terminal that closes. */
const ENDING_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/** What the next signal does. */
let handle: (name: NodeJS.Signals) => void = endProcess

/** By default, these open the inspector on a port, end the process, and end it where a file reaches `ulimit -f`. */
const IGNORED_SIGNALS = ['SIGUSR1', 'SIGUSR2', 'SIGXFSZ'] as const

for (const name of IGNORED_SIGNALS) process.on(name, () => {})
for (const name of ENDING_SIGNALS) {
  process.on(name, () => {
    const first = handle
    handle = endProcess
    first(name)
  })
}

/** Ends the process with the exit code that shells report for one that a signal has ended. */
function endProcess(name: NodeJS.Signals): never {
  return process.exit(128 + constants.signals[name])
}

/** Resolves with the name of the first signal, which then does not end the process; the second one does, immediately. */
export function firstSignal(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    handle = resolve
  })
}

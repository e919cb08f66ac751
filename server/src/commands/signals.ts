/**
 * Handles signals, and terminals that do not read, from the moment this module is loaded, before anything else that
 * takes time to load: the first process of a container gets only the signals that it has a handler for.
 */
import { accessSync, constants as fileConstants } from 'node:fs'
import { constants } from 'node:os'

for (const stream of [process.stdout, process.stderr]) stopBlocking(stream)

/** Sent by Ctrl+C, by a service manager, and by a terminal that closes. */
const ENDING_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/** npm and `node --watch` (`npm run dev`) pass on what Ctrl+C or a closed terminal has sent to this process too. */
const { npm_lifecycle_event: script, WATCH_REPORT_DEPENDENCIES: watched } = process.env
/** How long the same signal is one that was passed on, in milliseconds. */
const REPEAT_TIME = script || watched ? 2_000 : 0

/** What the next signal does. */
let handle: (name: NodeJS.Signals) => void = endProcess

/** By default, these open the inspector on a port, end the process, and end it where a file reaches `ulimit -f`. */
const IGNORED_SIGNALS = ['SIGUSR1', 'SIGUSR2', 'SIGXFSZ'] as const

for (const name of IGNORED_SIGNALS) process.on(name, () => {})
for (const name of ENDING_SIGNALS) {
  let repeatsUntil = Number.NEGATIVE_INFINITY
  process.on(name, () => {
    if (performance.now() < repeatsUntil) return
    repeatsUntil = performance.now() + REPEAT_TIME
    const first = handle
    handle = endProcess
    first(name)
  })
}

/** Ends the process with the exit code that shells report for one that a signal has ended. */
function endProcess(name: NodeJS.Signals): never {
  return process.exit(128 + constants.signals[name])
}

/**
 * Resolves with the name of the first signal, which then does not end the process; the second one does, immediately.
 */
export function firstSignal(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    handle = resolve
  })
}

/**
 * Lets what is written to a terminal wait in memory, as for a pipe: by default, one that does not read (Ctrl+S, a
 * frozen ssh) stops the event loop, and SIGTERM with it. libuv has opened the terminal again, so this changes only this
 * process. Where it may not, such as after `su`, writes still block. Nothing documented does this.
 */
function stopBlocking(
  terminal: NodeJS.WriteStream & { fd: number; _handle?: { setBlocking(blocking: boolean): void } },
): void {
  if (!terminal.isTTY) return
  try {
    accessSync(`/dev/fd/${terminal.fd}`, fileConstants.W_OK)
    terminal._handle?.setBlocking(false)
  } catch {
    // It belongs to another user, or this is Windows, where these writes do not block.
  }
}

/**
 * Handles signals from the moment this module is loaded, before anything else that takes time to load: the first process
 * of a container gets only the signals that it has a handler for.
 */
import { constants } from 'node:os'

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

/** Listens to the first signal, which then does not end the process; the second one does, immediately. */
export function onFirstSignal(listener: (name: NodeJS.Signals) => void): void {
  handle = listener
}

/**
 * Signals are handled from the moment this module is loaded, before anything else: the first process of a container gets
 * only the signals that it has a handler for.
 */
import { constants } from 'node:os'

/** Sent by Ctrl+C, by a service manager, and by a terminal that closes. */
const ENDING_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/** What the next signal does. */
let handle: (name: NodeJS.Signals) => void = endProcess

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

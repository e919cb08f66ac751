/**
 * Signals are handled from the moment this module is loaded, before anything else: the first process of a container gets
 * only the signals that it has a handler for.
 */
import { constants } from 'node:os'

/** Sent by Ctrl+C, by a service manager, and by a terminal that closes. */
const ENDING_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/** What the first signal aborts; without it, and at the second signal, the process ends immediately. */
let abort: ((signal: NodeJS.Signals) => void) | undefined

for (const name of ENDING_SIGNALS) {
  process.on(name, () => {
    const first = abort
    abort = undefined
    if (first) first(name)
    else endProcess(name)
  })
}

/** Ends the process with the exit code that shells report for one that a signal has ended. */
export function endProcess(name: NodeJS.Signals): never {
  return process.exit(128 + constants.signals[name])
}

/** Runs what a signal aborts; its name is the reason. */
export async function untilSignal(run: (signal: AbortSignal) => Promise<void>): Promise<void> {
  const controller = new AbortController()
  abort = (name) => controller.abort(name)
  try {
    await run(controller.signal)
  } finally {
    abort = undefined
  }
}

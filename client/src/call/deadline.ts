import { AbortError, type FailedCall, type PlantStoreError } from '../errors.ts'
import type { Signal } from '../fetch.ts'

/** The longest delay of a timer in milliseconds, 24 days. A longer time sets no limit. */
const MAX_TIMER = 2 ** 31 - 1

/** Ends work when its time is up or a signal is aborted. */
export interface Deadline {
  /** Aborted when the work must end. */
  readonly signal: Signal
  /** Resolves when the time is up, and rejects with an `AbortError` when a signal is aborted. */
  readonly reached: Promise<void>
  /** Must be called when the work is done. */
  dispose(): void
}

/**
 * @param time in milliseconds; `Infinity` for no limit
 * @param call the call that an `AbortError` belongs to
 */
export function startDeadline(time: number, signals: readonly Signal[], call: FailedCall | PlantStoreError): Deadline {
  const controller = new AbortController()
  let settle: [resolve: () => void, reject: (error: unknown) => void]
  const reached = new Promise<void>((...functions) => {
    settle = functions
  })
  const timer = time > MAX_TIMER ? undefined : setTimeout(end, time)
  const abort = (): void => {
    const aborted = signals.find((signal) => signal.aborted)
    if (aborted) end(new AbortError('aborted by the signal', call, { kind: 'aborted', cause: aborted.reason }))
  }
  for (const signal of signals) signal.addEventListener('abort', abort)
  abort()
  return { signal: controller.signal, reached, dispose }

  function end(error?: AbortError): void {
    if (error) settle[1](error)
    else settle[0]()
    controller.abort()
  }

  function dispose(): void {
    clearTimeout(timer)
    for (const signal of signals) signal.removeEventListener('abort', abort)
  }
}

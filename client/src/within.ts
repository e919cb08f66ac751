import { AbortError, type FailedCall } from './errors.ts'
import type { Signal } from './fetch.ts'

/**
 * Waits for work, which gets a signal that is aborted when it must end. Resolves to undefined when the time is up first.
 *
 * @param time in milliseconds; `Infinity` for no limit
 * @param call the call that an `AbortError` belongs to
 * @throws AbortError when one of the signals is aborted
 */
export function within<T>(
  time: number,
  signals: readonly Signal[],
  call: FailedCall,
  work?: (signal: Signal) => Promise<T>,
): Promise<T | undefined> {
  const controller = new AbortController()
  const cleanUp: (() => void)[] = []
  return new Promise<T | undefined>((resolve, rejectWith) => {
    // Settles first: the work fails with an error of its own when it is aborted.
    const end = (error?: AbortError): void => {
      if (error) rejectWith(error)
      else resolve(undefined)
      controller.abort()
    }
    // The longest delay of a timer is 24 days. A longer time sets no limit.
    if (time < 2 ** 31) {
      const timer = setTimeout(end, time)
      cleanUp.push(() => clearTimeout(timer))
    }
    for (const signal of signals) {
      const abort = (): void =>
        end(new AbortError('aborted by the signal', call, { kind: 'aborted', cause: signal.reason }))
      if (signal.aborted) abort()
      else cleanUp.push(onAbort(signal, abort))
    }
    if (!controller.signal.aborted) work?.(controller.signal).then(resolve, rejectWith)
  }).finally(() => {
    for (const run of cleanUp) run()
  })
}

/** The functions that wait for a signal. All calls share one listener, because Node.js warns of more than ten. */
const waiting = new WeakMap<object, Set<() => void>>()

function runWaiting(event?: { readonly target: object | null }): void {
  for (const callback of waiting.get(event?.target as object) ?? []) callback()
}

/** Calls a function when a signal is aborted. Returns a function that must be called when the work is done. */
function onAbort(signal: Signal, callback: () => void): () => void {
  const callbacks = waiting.get(signal) ?? new Set()
  waiting.set(signal, callbacks.add(callback))
  // Adding the same listener again has no effect.
  signal.addEventListener('abort', runWaiting)
  return () => {
    callbacks.delete(callback)
    if (callbacks.size === 0) signal.removeEventListener('abort', runWaiting)
  }
}

import type { Signal } from './fetch.ts'

/** Ends some work: by a caller's signal, or because its time is over. */
export interface Interrupt {
  /** Aborts when the work is to end. */
  readonly signal: AbortSignal
  /** Rejects when the work is to end, for what does not listen to the signal. */
  readonly rejection: Promise<never>
  /** Whether and by what the work was ended. */
  readonly cause: 'timeout' | Signal | undefined
  /** Must be called when the work is done. */
  dispose(): void
}

/** @param timeout in milliseconds; `Infinity` for none */
export function createInterrupt(timeout: number, signals: readonly Signal[]): Interrupt {
  const controller = new AbortController()
  let reject: (reason: Error) => void = () => {}
  const rejection = new Promise<never>((_, rejectIt) => {
    reject = rejectIt
  })
  // Nobody may be listening any more when it rejects.
  rejection.catch(() => {})
  let cause: Interrupt['cause']

  function end(by: 'timeout' | Signal): void {
    if (cause) return
    cause = by
    controller.abort()
    reject(new Error('interrupted'))
  }

  const timer = timeout === Infinity ? undefined : setTimeout(end, timeout, 'timeout')
  const listeners = signals.map((signal) => {
    const listener = () => end(signal)
    if (signal.aborted) listener()
    else signal.addEventListener('abort', listener)
    return () => signal.removeEventListener('abort', listener)
  })

  return {
    signal: controller.signal,
    rejection,
    get cause() {
      return cause
    },
    dispose() {
      clearTimeout(timer)
      for (const remove of listeners) remove()
    },
  }
}

import type { Signal } from '../fetch.ts'

/** By what a clock ended: its time was over, or a signal was aborted for this reason. */
export type Ending = 'time' | { readonly reason: unknown }

/** Ends some work when its time is over or a signal is aborted, whichever is first. */
export interface Clock {
  /** Is aborted when the work is to end. */
  readonly signal: Signal
  /** Resolves when the work is to end, for what does not listen to a signal. */
  readonly ended: Promise<Ending>
  /** Must be called when the work is done. */
  dispose(): void
}

/** @param time in milliseconds; `Infinity` for no end */
export function startClock(time: number, signals: readonly Signal[]): Clock {
  const controller = new AbortController()
  const listeners = signals.map((signal) => ({ signal, listener: () => end({ reason: signal.reason }) }))
  let settle: (ending: Ending) => void
  const ended = new Promise<Ending>((resolve) => {
    settle = resolve
  })
  const timer = time === Infinity ? undefined : setTimeout(() => end('time'), time)
  for (const { signal, listener } of listeners) {
    if (signal.aborted) listener()
    else signal.addEventListener('abort', listener)
  }
  return { signal: controller.signal, ended, dispose }

  function end(ending: Ending): void {
    settle(ending)
    controller.abort()
  }

  function dispose(): void {
    clearTimeout(timer)
    for (const { signal, listener } of listeners) signal.removeEventListener('abort', listener)
  }
}

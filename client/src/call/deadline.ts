import type { Signal } from '../fetch.ts'

/** Why work must end: its time is up, or a signal was aborted for this reason. */
export type Ending = 'timeout' | { readonly reason: unknown }

/** Ends work when its time is up or a signal is aborted. */
export interface Deadline {
  /** Aborted when the work must end. */
  readonly signal: Signal
  /** Resolves when the work must end, for code that takes no signal. */
  readonly reached: Promise<Ending>
  /** Must be called when the work is done. */
  dispose(): void
}

/** @param time in milliseconds; `Infinity` for no limit */
export function startDeadline(time: number, signals: readonly Signal[]): Deadline {
  const controller = new AbortController()
  const listeners = signals.map((signal) => ({ signal, listener: () => end({ reason: signal.reason }) }))
  let settle: (ending: Ending) => void
  const reached = new Promise<Ending>((resolve) => {
    settle = resolve
  })
  const timer = time === Infinity ? undefined : setTimeout(() => end('timeout'), time)
  for (const { signal, listener } of listeners) {
    if (signal.aborted) listener()
    else signal.addEventListener('abort', listener)
  }
  return { signal: controller.signal, reached, dispose }

  function end(ending: Ending): void {
    settle(ending)
    controller.abort()
  }

  function dispose(): void {
    clearTimeout(timer)
    for (const { signal, listener } of listeners) signal.removeEventListener('abort', listener)
  }
}

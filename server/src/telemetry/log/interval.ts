/** A period in which events are collected. */
export interface Interval {
  /** Begins the period with its first event. */
  begin(): void
  /** Ends the period if it has begun. */
  end(): void
}

/**
 * Collects events: the function runs at the end of each period that has any, so that nothing happens without events, and
 * little however many there are.
 *
 * @param length in milliseconds
 */
export function createInterval(length: number, run: () => void): Interval {
  let timer: NodeJS.Timeout | undefined

  function end(): void {
    if (!timer) return
    clearTimeout(timer)
    timer = undefined
    run()
  }

  return {
    begin() {
      timer ??= setTimeout(end, length).unref()
    },
    end,
  }
}

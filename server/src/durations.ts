/**
 * The timers of Node.js take 2^31 - 1 ms, 24.8 days; the rest of the last day is room for what Node.js adds to a time.
 */
export const MAX_TIMER_DAYS = 24
/** A day, in milliseconds. */
export const DAY = 86_400_000
const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: DAY }
const DURATION = /^([1-9]\d{0,14})(ms|s|m|h|d)$/

/**
 * Reads a duration such as `250ms`, `30s`, `15m`, `12h` or `90d` as milliseconds.
 *
 * @param maxDays the longest duration, in days
 * @returns undefined if the text is not a duration, or is longer
 */
export function parseDuration(text: string, maxDays: number = MAX_TIMER_DAYS): number | undefined {
  const [, count, unit = ''] = DURATION.exec(text) ?? []
  const duration = Number(count) * (UNITS[unit] ?? 0)
  return duration <= maxDays * DAY ? duration : undefined
}

const UNITS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const
const DURATION = /^([1-9]\d{0,14})(ms|s|m|h|d)$/

/**
 * Reads a duration such as `250ms`, `30s`, `15m`, `12h` or `90d` as milliseconds.
 *
 * @param max the longest duration, in the same format
 * @returns undefined if the text is not a duration, or is longer
 */
export function parseDuration(text: string, max: string): number | undefined {
  const duration = toMilliseconds(text)
  return duration <= toMilliseconds(max) ? duration : undefined
}

/** Writes milliseconds as a duration that {@link parseDuration} reads, in the largest unit that keeps them exact. */
export function formatDuration(milliseconds: number): string {
  const [unit, size] = Object.entries(UNITS).findLast(([, size]) => milliseconds % size === 0) ?? ['ms', 1]
  return `${milliseconds / size}${unit}`
}

/** Returns NaN, with which every comparison is false, if the text is not a duration. */
function toMilliseconds(text: string): number {
  const [, count, unit] = DURATION.exec(text) ?? []
  return Number(count) * UNITS[unit as keyof typeof UNITS]
}

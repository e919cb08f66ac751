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
  return duration !== undefined && duration <= (toMilliseconds(max) ?? 0) ? duration : undefined
}

/** Writes milliseconds as a duration that {@link parseDuration} reads, in the largest unit that keeps them exact. */
export function formatDuration(milliseconds: number): string {
  const units = Object.entries(UNITS).reverse()
  const [unit, size] = units.find(([, size]) => milliseconds % size === 0) ?? ['ms', 1]
  return `${milliseconds / size}${unit}`
}

function toMilliseconds(text: string): number | undefined {
  const [, count, unit] = DURATION.exec(text) ?? []
  return count && unit ? Number(count) * UNITS[unit as keyof typeof UNITS] : undefined
}

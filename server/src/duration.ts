const UNITS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const
const DURATION = /^([1-9]\d{0,5})(ms|s|m|h|d)$/

/**
 * Reads a duration such as `250ms`, `30s`, `15m`, `12h` or `90d` as milliseconds, or gives nothing where it is none.
 */
export function parseDuration(text: string): number | undefined {
  const [, count, unit] = DURATION.exec(text) ?? []
  return count && unit ? Number(count) * UNITS[unit as keyof typeof UNITS] : undefined
}

import { vi } from 'vitest'

/** Waits until something holds, for ten seconds, or for so many milliseconds. */
export function until(holds: () => Promise<boolean> | boolean, timeout = 10_000): Promise<unknown> {
  return vi.waitUntil(holds, { timeout, interval: 20 })
}

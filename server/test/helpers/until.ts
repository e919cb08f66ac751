import { vi } from 'vitest'

/** Waits until something holds, for ten seconds. */
export function until(holds: () => Promise<boolean> | boolean): Promise<unknown> {
  return vi.waitUntil(holds, { timeout: 10_000, interval: 20 })
}

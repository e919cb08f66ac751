import { vi } from 'vitest'

/** Waits until a condition holds; fails after a timeout in milliseconds (default: 60,000). */
export function until(holds: () => Promise<boolean> | boolean, timeout = 60_000): Promise<unknown> {
  return vi.waitUntil(holds, { timeout, interval: 20 })
}

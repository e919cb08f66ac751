import { setTimeout as sleep } from 'node:timers/promises'

const INTERVAL = 20

/** Waits until a condition holds; fails after a timeout in milliseconds (default: 60,000). */
export async function until(holds: () => Promise<boolean> | boolean, timeout = 60_000): Promise<void> {
  // Without Vitest, outside of which programs use helpers too.
  const deadline = performance.now() + timeout
  while (!(await holds())) {
    if (performance.now() > deadline) throw new Error(`does not hold after ${timeout} ms: ${holds}`)
    await sleep(INTERVAL)
  }
}

import { setTimeout as sleep } from 'node:timers/promises'

const PATIENCE = 10_000

/** Waits until something holds. */
export async function until(holds: () => Promise<boolean> | boolean): Promise<void> {
  const end = Date.now() + PATIENCE
  while (!(await holds())) {
    if (Date.now() > end) throw new Error('it does not come true')
    await sleep(20)
  }
}

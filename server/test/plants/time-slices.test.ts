import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { inTimeSlices } from '../../src/plants/time-slices.ts'

test('what is done with the result of a read takes time of its slice, too', async () => {
  let begun = 0
  const read = inTimeSlices(async () => ++begun)
  const reads = Array.from({ length: 20 }, async (_, account) => {
    await read(String(account), undefined)
    // Blocks the thread for two milliseconds.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2)
  })
  await nextTurn()
  expect(begun).toBeGreaterThan(0)
  expect(begun).toBeLessThan(20)
  await Promise.all(reads)
})

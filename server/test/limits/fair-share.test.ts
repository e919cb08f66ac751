import { expect, test } from 'vitest'
import { memoryInUse } from '../../../test/helpers/memory-in-use.ts'
import { createFairShare } from '../../src/limits/fair-share.ts'

test('a client alone gets most of a capacity, and leaves room for another', () => {
  const share = createFairShare(1_000)
  const fill = (client: string) => {
    let held = 0
    for (; share.hasRoom(client, 1); held++) share.take(client, 1)
    return held
  }
  expect(fill('alice')).toBe(889)
  expect(fill('bob')).toBe(99)
  expect(share.used()).toBe(988)
})

test('clients that hold nothing any more take no memory, and those that hold something are kept', () => {
  const share = createFairShare(100)
  share.take('alice', 60)
  const before = memoryInUse()
  for (let client = 0; client < 500_000; client++) {
    share.take(`client ${client}`, 1)
    share.release(`client ${client}`, 1)
  }
  expect(memoryInUse() - before).toBeLessThan(5e6)
  expect(share.used()).toBe(60)
  expect(share.hasRoom('alice', 40)).toBe(true)
  expect(share.hasRoom('bob', 41)).toBe(false)
})

import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { oncePerTurn } from '../../src/requests/once-per-turn.ts'

test('a turn has one read, of each key once, and no request shares or awaits one that has begun', async () => {
  const reads: { keys: readonly string[]; end(values: string[]): void }[] = []
  const read = oncePerTurn((keys: readonly string[]) => new Promise<string[]>((end) => reads.push({ keys, end })))
  const first = ['a', 'b', 'a'].map(read)
  expect(reads).toEqual([])
  await nextTurn()
  const later = read('a')
  await nextTurn()
  expect(reads.map(({ keys }) => keys)).toEqual([['a', 'b'], ['a']])
  reads[1]?.end(['later'])
  expect(await later).toBe('later')
  reads[0]?.end(['of a', 'of b'])
  expect(await Promise.all(first)).toEqual(['of a', 'of b', 'of a'])
})

test('a result too few fails every key, rather than give one the result of another', async () => {
  const read = oncePerTurn(async (keys: readonly string[]) => keys.slice(1))
  const outcomes = await Promise.allSettled(['a', 'b'].map(read))
  expect(outcomes.map((outcome) => outcome.status === 'rejected' && String(outcome.reason))).toEqual(
    Array(2).fill('Error: 1 results for 2 keys'),
  )
})

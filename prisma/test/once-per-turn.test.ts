import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { oncePerTurn } from '../src/once-per-turn.ts'

/** Reads that end when the test says so. */
function startReads() {
  const started: { keys: readonly string[]; resolve(values: string[]): void; reject(error: Error): void }[] = []
  const read = oncePerTurn(
    (keys) => new Promise<string[]>((resolve, reject) => started.push({ keys, resolve, reject })),
  )
  return { read, started }
}

test('one turn has one read, of each key once, which begins after the last request', async () => {
  const { read, started } = startReads()
  const results = ['a', 'b', 'a', 'a'].map(read)
  expect(started).toEqual([])
  await nextTurn()
  expect(started.map(({ keys }) => keys)).toEqual([['a', 'b']])
  started[0]?.resolve(['of a', 'of b'])
  expect(await Promise.all(results)).toEqual(['of a', 'of b', 'of a', 'of a'])
})

test('a request never shares a read that has already begun, and waits for none', async () => {
  const { read, started } = startReads()
  const stuck = read('a')
  await nextTurn()
  const later = read('a')
  await nextTurn()
  expect(started).toHaveLength(2)
  started[1]?.resolve(['later'])
  expect(await later).toBe('later')
  started[0]?.resolve(['at last'])
  expect(await stuck).toBe('at last')
})

test('a read that fails alone fails only those who asked for it', async () => {
  const read = oncePerTurn<string>(async (keys) =>
    keys.map((key) => (key === 'bad' ? Promise.reject(new Error('no response')) : Promise.resolve(`of ${key}`))),
  )
  const [bad, good] = await Promise.allSettled(['bad', 'good'].map(read))
  expect([bad?.status, good]).toEqual(['rejected', { status: 'fulfilled', value: 'of good' }])
})

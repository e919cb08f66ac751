import { EventEmitter, once } from 'node:events'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { StorageError } from '../src/engine.ts'
import { createWriteGate, oncePerTurn } from '../src/patience.ts'

const late = new StorageError('late')
const message = (running: Promise<unknown>) => running.catch((error: Error) => error.message)

/** Starts a write that ends when it is told to. */
function startWrite(gate: ReturnType<typeof createWriteGate>) {
  const outcome = new EventEmitter()
  const running = gate.run(async () => (await once(outcome, 'end'))[0] as string)
  return { running, end: (result: string) => outcome.emit('end', result) }
}

test('a write that is late fails with those behind it, and new ones until its outcome arrives', async () => {
  const gate = createWriteGate(20, () => late)
  const first = startWrite(gate)
  const second = startWrite(gate)
  expect(await Promise.all([message(first.running), message(second.running)])).toEqual(['late', 'late'])
  expect(await message(gate.run(async () => 'new'))).toBe('late')
  expect(gate.hasFailed()).toBe(true)
  first.end('stored after all')
  second.end('too')
  await expect.poll(() => message(gate.run(async () => 'new'))).toBe('new')
  expect(gate.hasFailed()).toBe(false)
})

test.each([
  ['a disk that is full', new StorageError('full', { fault: 'disk-full' }), true],
  ['a lock', new StorageError('locked', { fault: 'locked' }), false],
  ['a mistake', new TypeError('x is not a function'), false],
])('%s is a failure that only a real write shows to be over: %s, %s', async (_, error, hasFailed) => {
  const gate = createWriteGate(60_000, () => late)
  await expect(gate.run(() => Promise.reject(error))).rejects.toBe(error)
  expect(gate.hasFailed()).toBe(hasFailed)
})

test('a turn has one read, of each key once, and no request shares or awaits one that has begun', async () => {
  const reads: { keys: readonly string[]; end(values: string[]): void }[] = []
  const read = oncePerTurn((keys) => new Promise<string[]>((end) => reads.push({ keys, end })))
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

test('a read that fails alone fails only those who asked for it', async () => {
  const read = oncePerTurn<string>(async (keys) =>
    keys.map((key) => (key === 'bad' ? Promise.reject(new Error('no response')) : Promise.resolve(`of ${key}`))),
  )
  const [bad, good] = await Promise.allSettled(['bad', 'good'].map(read))
  expect([bad?.status, good]).toEqual(['rejected', { status: 'fulfilled', value: 'of good' }])
})

test('a result too few fails every key, rather than give one the result of another', async () => {
  const read = oncePerTurn(async (keys) => keys.slice(1))
  const outcomes = await Promise.allSettled(['a', 'b'].map(read))
  expect(outcomes.map((outcome) => outcome.status === 'rejected' && String(outcome.reason))).toEqual(
    Array(2).fill('Error: 1 results for 2 keys'),
  )
})

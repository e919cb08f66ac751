import { EventEmitter, once } from 'node:events'
import { expect, test } from 'vitest'
import { StorageError } from '../src/engine.ts'
import { createWriteGate } from '../src/patience.ts'

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

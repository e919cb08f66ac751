import { EventEmitter, once } from 'node:events'
import { expect, test } from 'vitest'
import { StorageError } from '../src/engine.ts'
import { createWriteGate, type WriteGate } from '../src/patience.ts'

const late = new StorageError('late')
const message = (running: Promise<unknown>) => running.catch((error: Error) => error.message)

/** Probes, and returns whether the probe was to write. */
async function isSuspect(gate: WriteGate): Promise<boolean | undefined> {
  const seen: boolean[] = []
  await gate.probe(async (isSuspect) => void seen.push(isSuspect))
  return seen[0]
}

/** Starts a write that ends when it is told to. */
function startWrite(gate: ReturnType<typeof createWriteGate>) {
  const outcome = new EventEmitter()
  const running = gate.run(async () => (await once(outcome, 'end'))[0] as string)
  return { running, end: (result: string) => outcome.emit('end', result) }
}

test('writes that are late fail, and new ones until their outcomes arrive', async () => {
  const gate = createWriteGate(0, () => late, 20)
  const first = startWrite(gate)
  const second = startWrite(gate)
  expect(await Promise.all([message(first.running), message(second.running)])).toEqual(['late', 'late'])
  expect(await message(gate.run(async () => 'new'))).toBe('late')
  expect(await message(gate.probe(async () => {}))).toBe('late')
  first.end('stored after all')
  second.end('too')
  await expect.poll(() => message(gate.run(async () => 'new'))).toBe('new')
  expect(await isSuspect(gate)).toBe(false)
})

test.each([
  ['a disk that is full', new StorageError('full', { fault: 'disk-full' }), true],
  ['a lock', new StorageError('locked', { fault: 'locked' }), false],
  ['a mistake', new TypeError('x is not a function'), false],
])('after %s a probe writes, once, until a write succeeds: %s, %s', async (_, error, writes) => {
  const gate = createWriteGate(0, () => late)
  const fail = () => Promise.reject(error)
  await expect(gate.run(fail)).rejects.toBe(error)
  await expect(gate.probe(fail)).rejects.toBe(error)
  expect([await isSuspect(gate), await isSuspect(gate)]).toEqual([writes, false])
  await expect(gate.run(fail)).rejects.toBe(error)
  await gate.run(async () => {})
  expect(await isSuspect(gate)).toBe(false)
})

test('a probe that writes nothing does not hide a write that fails meanwhile', async () => {
  const gate = createWriteGate(0, () => late)
  await gate.probe(async () => {
    await expect(gate.run(() => Promise.reject(late))).rejects.toBe(late)
  })
  expect(await isSuspect(gate)).toBe(true)
})

/** Who is blamed for a list that finds no memory: the database that is slow, or clients that do not read. */
import { EventEmitter, once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { until } from '../../../test/helpers/until.ts'
import { createResponseMemory } from '../../src/http/response/response-memory.ts'

const MEBIBYTE = 2 ** 20
beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }))
afterEach(() => void vi.useRealTimers())

/** Creates a memory of so many MiB, as a response to one client uses it. */
function create(mebibytes: number) {
  const { of, used } = createResponseMemory({ maxResponseMemory: mebibytes * MEBIBYTE, bodyLimit: MEBIBYTE })
  return { memory: of({ account: 'alice', isConnected: () => true }), used }
}

/** Waits until a promise that waits for room has looked for it, and lets so many milliseconds pass for it. */
async function pass(milliseconds: number): Promise<void> {
  await sleep(20)
  vi.advanceTimersByTime(milliseconds)
}

test('pages that wait for a slow database get their turn, and what does not fit in time names the database', async () => {
  const { memory, used } = create(64)
  const database = new EventEmitter().setMaxListeners(50)
  const readPages = (count: number) =>
    Array.from({ length: count }, () => memory.readFirst(1_000, () => once(database, 'response')))
  const pages = readPages(22)
  await pass(11_000)
  database.emit('response')
  await until(() => database.listenerCount('response') === 11)
  database.emit('response')
  await Promise.all(pages)

  const slow = readPages(11)
  const rejected = expect(memory.readFirst(1_000, async () => 'read')).rejects.toThrow('The database is slow')
  await pass(12_001)
  await rejected
  database.emit('response')
  await Promise.all(slow)
  await expect.poll(used).toBe(0)
})

test('room that unread responses hold is waited for shortly, and a response that has begun waits on', async () => {
  const { memory } = create(16)
  const release = memory.hold(8 * MEBIBYTE)
  const next = memory.readNext(async () => 'piece')
  const rejected = expect(memory.readFirst(undefined, async () => 'list')).rejects.toThrow('waiting to be read')
  await pass(2_001)
  await rejected
  release()
  expect(await next).toBe('piece')
})

test('reads that wait for room continue when another ends, without a timer', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const { memory } = create(64)
  let read = 0
  const pages = Array.from({ length: 64 }, () => memory.readFirst(1_000, async () => ++read))
  expect(await Promise.all(pages)).toHaveLength(64)
  expect(vi.getTimerCount()).toBe(0)

  const release = memory.hold(64 * MEBIBYTE)
  const page = memory.readFirst(1_000, async () => 'page')
  release()
  expect(await page).toBe('page')
})

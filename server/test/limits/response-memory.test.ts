/** Who is blamed for a list that finds no memory: the database that is slow, or clients that do not read. */
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { createResponseMemory } from '../../src/limits/response-memory.ts'

const MEBIBYTE = 2 ** 20
const reader = { account: 'alice', isConnected: () => true }

test('pages that wait for a slow database get their turn, and what does not fit in time names the database', async () => {
  const memory = createResponseMemory({ maxResponseMemory: 64 * MEBIBYTE, bodyLimit: MEBIBYTE })
  const pages = Array.from({ length: 24 }, () => memory.read(reader, 20, () => sleep(1_200, 'read')))
  expect(new Set(await Promise.all(pages))).toEqual(new Set(['read']))

  const hanging = Array.from({ length: 11 }, () => memory.read(reader, 20, () => sleep(12_500)))
  await expect(memory.read(reader, 20, () => sleep(0))).rejects.toThrow('The database is slow')
  await Promise.all(hanging)
  expect(memory.used()).toBe(0)
})

test('room that unread responses hold is waited for shortly, and a response that has begun waits on', async () => {
  const memory = createResponseMemory({ maxResponseMemory: 16 * MEBIBYTE, bodyLimit: MEBIBYTE })
  const release = memory.hold(reader.account, 8 * MEBIBYTE)
  const next = memory.readNext(reader, async () => 'piece')
  await expect(memory.read(reader, undefined, async () => 'list')).rejects.toThrow('waiting to be read')
  release()
  expect(await next).toBe('piece')
})

test.each([
  ['a page of short plants, as many characters as its bodies had bytes', 16 * 1024, 20, 960 * 1024],
  ['a page of long plants, one piece', MEBIBYTE, 20, 3 * MEBIBYTE],
  ['a page of very long plants, one of them', 2 * MEBIBYTE, 20, 6 * MEBIBYTE],
  ['a whole list, what could be cached and a piece', MEBIBYTE, undefined, 6 * MEBIBYTE],
])('room is reserved for %s', async (_what, bodyLimit, limit, bytes) => {
  const memory = createResponseMemory({ maxResponseMemory: 64 * MEBIBYTE, bodyLimit })
  expect(await memory.read(reader, limit, async () => memory.used())).toBe(bytes)
})

import { setImmediate as nextTurn } from 'node:timers/promises'
import { type Database, migrateDatabase, openDatabase } from '@plant-store/prisma'
import { expect, onTestFinished, test } from 'vitest'
import { query } from '../../test/helpers/database/databases.ts'
import { startPostgresql } from '../../test/helpers/database/postgresql.ts'
import { oncePerTurn } from '../src/shared/once-per-turn.ts'

const HASH = 'a'.repeat(64)

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

test('an error fails the requests of its turn, and no later one', async () => {
  const { read, started } = startReads()
  const failed = [read('a'), read('a'), read('b')]
  await nextTurn()
  started[0]?.reject(new Error('no response'))
  expect((await Promise.allSettled(failed)).map(({ status }) => status)).toEqual(Array(3).fill('rejected'))
  const next = read('a')
  await nextTurn()
  started[1]?.resolve(['found'])
  expect(await next).toBe('found')
})

test('a read that fails alone fails only those who asked for it', async () => {
  const read = oncePerTurn<string>(async (keys) =>
    keys.map((key) => (key === 'bad' ? Promise.reject(new Error('no response')) : Promise.resolve(`of ${key}`))),
  )
  const [bad, good] = await Promise.allSettled(['bad', 'good'].map(read))
  expect([bad?.status, good]).toEqual(['rejected', { status: 'fulfilled', value: 'of good' }])
})

const sharedReads: [string, (database: Database, request: number) => Promise<unknown>][] = [
  ['a token', ({ tokens }, request) => tokens.find(request % 2 ? HASH : 'none')],
  ['a page', ({ plants }) => plants.list('alice', { limit: 2 })],
]

test.each(sharedReads)('reading %s for many requests at the same time takes one connection', async (_name, read) => {
  const server = await startPostgresql()
  onTestFinished(() => server.remove())
  const url = server.url('reads')
  await migrateDatabase(url)
  const database = await openDatabase(`${url}?application_name=reads`)
  onTestFinished(() => database.close())
  const reads = Array.from({ length: 64 }, async (_, request) => {
    // One after the other, as requests arrive within a turn: Prisma Client would combine those of one tick.
    for (let tick = 0; tick < request; tick++) await new Promise<void>((resolve) => process.nextTick(resolve))
    return read(database, request)
  })
  await Promise.all(reads)
  expect(await query(url, `SELECT FROM pg_stat_activity WHERE application_name = 'reads'`)).toHaveLength(1)
})

import { setImmediate as nextTurn } from 'node:timers/promises'
import { migrateDatabase, openDatabase } from '@plant-store/prisma'
import { expect, onTestFinished, test } from 'vitest'
import { query } from '../../../test/helpers/database/databases.ts'
import { startPostgresql } from '../../../test/helpers/database/postgresql.ts'
import { shareReads } from '../../src/shared/share-reads.ts'

/** Reads that end when the test says so. */
function startReads() {
  const started: { key: string; resolve(value: string): void; reject(error: Error): void }[] = []
  const read = shareReads((key) => new Promise<string>((resolve, reject) => started.push({ key, resolve, reject })))
  return { read, started }
}

test('the reads of one turn share one for each key, which begins after the last of them', async () => {
  const { read, started } = startReads()
  const results = ['a', 'b', 'a', 'a'].map(read)
  expect(started).toEqual([])
  await nextTurn()
  expect(started.map(({ key }) => key)).toEqual(['a', 'b'])
  for (const { key, resolve } of started) resolve(`of ${key}`)
  expect(await Promise.all(results)).toEqual(['of a', 'of b', 'of a', 'of a'])
})

test('a read never shares one that has already begun, and waits for none', async () => {
  const { read, started } = startReads()
  const stuck = read('a')
  await nextTurn()
  const later = read('a')
  await nextTurn()
  expect(started).toHaveLength(2)
  started[1]?.resolve('later')
  expect(await later).toBe('later')
  started[0]?.resolve('at last')
  expect(await stuck).toBe('at last')
})

test('an error fails the reads that share it, and no later one', async () => {
  const { read, started } = startReads()
  const failed = [read('a'), read('a')]
  await nextTurn()
  started[0]?.reject(new Error('no response'))
  expect((await Promise.allSettled(failed)).map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  const next = read('a')
  await nextTurn()
  started[1]?.resolve('found')
  expect(await next).toBe('found')
})

test('looking a token up for many requests at the same time takes one connection', async () => {
  const server = await startPostgresql()
  onTestFinished(() => server.remove())
  const url = server.url('tokens')
  await migrateDatabase(url)
  const { tokens, close } = await openDatabase(`${url}?application_name=lookups`)
  onTestFinished(() => close())
  const hash = 'a'.repeat(64)
  await tokens.create({ id: '1', hash, account: 'alice', scopes: ['read'], label: null, expiresAt: null })
  const lookups = Array.from({ length: 64 }, async (_, request) => {
    // One after the other, as requests arrive within a turn: Prisma Client would combine those of one tick.
    for (let tick = 0; tick < request; tick++) await new Promise<void>((resolve) => process.nextTick(resolve))
    return tokens.find(hash)
  })
  const found = await Promise.all(lookups)
  expect(new Set(found.map((token) => token?.account))).toEqual(new Set(['alice']))
  const connections = `SELECT FROM pg_stat_activity WHERE application_name = 'lookups'`
  expect(await query(url, connections)).toHaveLength(1)
})

/** How a server connects: how often while PostgreSQL cannot be reached, and what it says where no connection is free. */
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { openDatabase } from '@plant-store/prisma'
import { expect, test } from 'vitest'
import { openConnection, startOwnPostgresql } from '../../../test/helpers/database/databases.ts'
import { startFaultyNetwork } from '../../../test/helpers/network/faulty-network.ts'
import { until } from '../../../test/helpers/programs.ts'
import { afterFile } from '../../../test/helpers/temporary.ts'
import { readAddress } from '../../src/postgresql/address.ts'
import { openPool } from '../../src/postgresql/pool.ts'
import { outcomeOf } from '../helpers/open-client.ts'

/** The shortest time between two attempts, in milliseconds; timers may be early by one. */
const INTERVAL = 249
const PLANT = { account: 'alice', id: '1', name: 'Ficus', tag: null }

const postgresql = await startOwnPostgresql()
await postgresql.create('plants')
const network = await startFaultyNetwork(postgresql.port)
afterFile(network[Symbol.asyncDispose])
const opened = await openDatabase(network.url('plants'))
afterFile(opened.close)
// Loading Prisma Client takes longer on a busy machine than a request may.
await until(() =>
  opened.tokens.isEmpty().then(
    () => true,
    () => false,
  ),
)

test('while PostgreSQL refuses connections, all that wait share one attempt in 250 ms', async () => {
  const attempts: number[] = []
  const refusing = createServer((socket) => {
    attempts.push(performance.now())
    socket.on('error', () => {}).resetAndDestroy()
  })
  await once(refusing.listen(0, '127.0.0.1'), 'listening')
  afterFile(() => void refusing.close())
  const { port } = refusing.address() as AddressInfo
  network.lead(port)
  network.cutAll()
  const { plants, tokens, whyUnavailable } = opened
  const requests = () => [
    ...Array.from({ length: 20 }, () => plants.read('alice', { limit: 1 })),
    tokens.find(['hash']),
    plants.create([PLANT]),
    tokens.list(),
  ]
  const probe = whyUnavailable()
  for (const outcome of await Promise.all(requests().map(outcomeOf))) expect(outcome).toMatch(/does not respond: check/)
  expect(await probe).toMatch(/does not respond: check/)
  const gaps = attempts.slice(1).map((time, index) => time - (attempts[index] ?? 0))
  expect(Math.min(...gaps)).toBeGreaterThan(INTERVAL)
  network.lead(postgresql.port)
  await expect.poll(whyUnavailable).toBe(undefined)
})

test('where all connections wait for a lock, requests and a probe name the pool that is full', async () => {
  const { plants, whyUnavailable, close } = await openDatabase(`${network.url('plants')}?connection_limit=2`)
  const other = await openConnection(postgresql.url('plants'))
  await other.run('BEGIN; LOCK TABLE "Plant" IN ACCESS EXCLUSIVE MODE')
  const reads = Array.from({ length: 6 }, () => outcomeOf(plants.read('alice', { limit: 1 })))
  const outcomes = await Promise.all([whyUnavailable(), ...reads])
  const FULL = 'keeps all 2 connections of this server waiting \\(connection_limit\\): see pg_stat_activity'
  expect(outcomes.join()).toMatch(new RegExp(FULL))
  for (const outcome of outcomes) expect(outcome).toMatch(new RegExp(`${FULL}|is locked by another transaction`))
  await other.run('ROLLBACK')
  await other.close()
  await expect.poll(whyUnavailable).toBe(undefined)
  await close()
})

/** A connection is open and ready, and a FATAL error of the code 57P01 ends it. */
const OPEN_AND_END = 'R\0\0\0\x08\0\0\0\0Z\0\0\0\x05IE\0\0\0\x19SFATAL\0C57P01\0Mstop\0\0'

test('a server that stops as it has opened a connection fails a statement, and is no uncaught exception', async () => {
  const stopping = createServer((socket) => socket.once('data', () => socket.end(OPEN_AND_END, 'latin1')))
  await once(stopping.listen(0, '127.0.0.1'), 'listening')
  afterFile(() => void stopping.close())
  const { port } = stopping.address() as AddressInfo
  await using pool = openPool(readAddress(`postgresql://postgres@127.0.0.1:${port}/plants`), { max: 1 })
  expect(await outcomeOf(pool.query('SELECT 1'))).toMatch(/does not respond: check/)
})

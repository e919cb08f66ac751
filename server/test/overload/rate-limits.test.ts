/** Rate limits by token, shares by address, and the memory of what counts clients. */
import { EventEmitter } from 'node:events'
import type { Request, Response } from 'express'
import { expect, onTestFinished, test, vi } from 'vitest'
import { memoryInUse } from '../../../test/helpers/memory-in-use.ts'
import { startTestServer } from '../../../test/helpers/server/start-test-server.ts'
import { createPlaces, createRequestsInFlight } from '../../src/connections/places.ts'
import { readSettings } from '../../src/index.ts'
import { HttpError } from '../../src/requests/errors.ts'
import { createRateLimit } from '../../src/requests/rate-limit.ts'
import { get, post } from '../helpers/requests.ts'
import { accepts, rejects } from '../helpers/wire.ts'

test('requests beyond the limit get a 429 with Retry-After and RateLimit; another token is not affected', async () => {
  await using server = await startTestServer({ rateLimit: readSettings({ RATE_LIMIT: '2/1500ms' }).rateLimit })
  // A window must not end because the machine is busy. Differences of whole numbers are exact.
  const clock = vi.spyOn(performance, 'now').mockReturnValue(Math.ceil(performance.now()))
  onTestFinished(() => clock.mockRestore())
  // Headers have whole seconds.
  const first = { 'RateLimit-Policy': '"rate-limit";q=2;w=2', RateLimit: '"rate-limit";r=1;t=2' }
  await accepts(server, get(), { headers: first })
  await accepts(server, post('{"id":1,"name":"Ficus"}'))

  const headers = { 'Retry-After': '2', RateLimit: '"rate-limit";r=0;t=2' }
  await rejects(server, post('{"id":2,"name":"Ficus"}'), 42900, { headers, message: /2 requests.*1\.5 s/ })

  const { token } = await server.createToken({ account: 'alice' })
  await accepts({ ...server, token }, get(), { body: '[{"name":"Ficus"}]' })

  clock.mockReturnValue(performance.now() + 1_501)
  await accepts(server, get())
})

// The addresses of a line are one client.
const CLIENTS = [
  ['192.0.2.1:4711', '192.0.2.1:4712', '::ffff:c000:0201'],
  ['192.0.2.2'],
  ['127.0.0.1'],
  ['[2001:db8::1]:4711', '[2001:db8::1%eth0]:4712', '2001:0DB8:0:0:1::', '2001:db8:0::%zone'],
  ['2001:db8:0:1::1', '2001:db8:0:1:2:3:4:5'],
  ['2001::1:2:3:4:5', '2001:0:0:1::9'],
  ['::1'],
]
test('requests are shared by the address, or the /64 network, that a trusted proxy reports, perhaps with a port', () => {
  const trust = { maxRequestsInFlight: 9, trustProxy: ['127.0.0.1'] }
  for (const [index, addresses] of CLIENTS.entries()) {
    const { add } = createRequestsInFlight(trust)
    const hasPlace = (ip = '') => {
      const request = { ip, socket: { remoteAddress: '127.0.0.1' } }
      return add(request as Request, Object.assign(new EventEmitter(), { socket: {} }) as Response) !== undefined
    }
    for (let count = 0; count < 8; count++) expect(hasPlace(addresses[count % addresses.length])).toBe(true)
    for (const address of addresses) expect([address, hasPlace(address)]).toEqual([address, false])
    expect(hasPlace(CLIENTS.at(index - 1)?.[0])).toBe(true)
  }
})

test('a flood of tokens is counted in bounded memory, and resets none that goes on beyond its limit', () => {
  const count = createRateLimit({ requests: 2, seconds: 2_000_000 })
  const response = { setHeader() {} } as unknown as Response
  const before = memoryInUse()
  for (let request = 0; request < 2; request++) count('alice', response)
  for (let token = 0; token < 200_000; token++) {
    count(`https://login.example.com/ ${token}`, response)
    if (token % 10_000 === 0) expect(() => count('alice', response)).toThrow(HttpError)
  }
  expect(memoryInUse() - before).toBeLessThan(20e6)
  count('bob', response)
})

test('clients without a place take no memory, and those that have one are kept', () => {
  const places = createPlaces(100)
  for (let place = 0; place < 60; place++) places.take('alice')
  const before = memoryInUse()
  for (let client = 0; client < 100_000; client++) {
    places.take(`client ${client}`)
    places.release(`client ${client}`)
  }
  expect(memoryInUse() - before).toBeLessThan(5e6)
  expect([places.taken(), places.takenBy('alice')]).toEqual([60, 60])
})

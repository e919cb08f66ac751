/** Rate limits by token and by address, and the memory of what counts clients. */
import type { Response } from 'express'
import { expect, onTestFinished, test, vi } from 'vitest'
import { memoryInUse } from '../../../test/helpers/memory-in-use.ts'
import { startTestServer } from '../../../test/helpers/server/start-test-server.ts'
import { HttpError } from '../../src/http/errors.ts'
import { createFairShare } from '../../src/http/fair-share.ts'
import { createRateLimit } from '../../src/http/rate-limit.ts'
import { readSettings } from '../../src/index.ts'
import { get, NO_TOKEN, post } from '../helpers/wire/requests.ts'
import { accepts, rejects } from '../helpers/wire/wire.ts'

test('requests beyond the limit get a 429 with Retry-After and RateLimit; another token is not affected', async () => {
  await using server = await startTestServer({ rateLimit: readSettings({ RATE_LIMIT: '2/1500ms' }).rateLimit })
  // A window must not end because the machine is busy. Differences of whole numbers are exact.
  const clock = vi.spyOn(performance, 'now').mockReturnValue(Math.ceil(performance.now()))
  onTestFinished(() => clock.mockRestore())
  // Headers have whole seconds.
  const first = { 'RateLimit-Policy': '"rate-limit";q=2;w=2', RateLimit: '"rate-limit";r=1;t=2' }
  await accepts(server, get(), { headers: first })
  await accepts(server, post('{"id":1,"name":"Ficus"}'))

  // A clock that is put back a day does not make the window longer.
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() - 86_400_000 })
  onTestFinished(() => void vi.useRealTimers())
  const headers = { 'Retry-After': '2', RateLimit: '"rate-limit";r=0;t=2' }
  await rejects(server, post('{"id":2,"name":"Ficus"}'), 42900, { headers, message: /2 requests.*1\.5 s/ })

  const { token } = await server.createToken({ account: 'alice' })
  await accepts({ ...server, token }, get(), { body: '[{"name":"Ficus"}]' })

  clock.mockReturnValue(performance.now() + 1_501)
  await accepts(server, get())
})

test('failed authentications beyond the limit get a 429 instead of 401; a valid token, also without the scope, does not', async () => {
  await using server = await startTestServer({ authFailureLimit: { requests: 2, seconds: 60 } })
  const { token: writeOnly } = await server.createToken({ scopes: ['write'] })
  for (let count = 0; count < 3; count++) await rejects({ ...server, token: writeOnly }, get(), 40301)
  await rejects(server, get('/plants', NO_TOKEN), 40101)
  await rejects({ ...server, token: 'wrong' }, get(), 40102)
  await rejects({ ...server, token: writeOnly }, get(), 40301)
  // X-Forwarded-For is ignored without TRUST_PROXY.
  for (const headers of [{}, { 'X-Forwarded-For': '192.0.2.1' }]) {
    const expected = { headers: { 'Retry-After': /^[56]\d$/ } }
    await rejects({ ...server, token: 'wrong' }, get('/plants', headers), 42900, expected)
  }
  // Without RATE_LIMIT there is no header.
  await accepts(server, get(), { headers: { RateLimit: null } })
})

test('failed authentications are counted by the address, or the /64 network, that a trusted proxy reports, perhaps with a port', async () => {
  const limits = { authFailureLimit: { requests: 1, seconds: 60 } }
  await using server = await startTestServer({ trustProxy: ['127.0.0.1'], ...limits })
  // Those of a line are one client.
  for (const addresses of [
    ['192.0.2.1:4711', '192.0.2.1:4712', '::ffff:c000:0201'],
    ['192.0.2.2'],
    ['127.0.0.1'],
    ['[2001:db8::1]:4711', '[2001:db8::1%eth0]:4712', '2001:0DB8:0:0:1::', '2001:db8:0::%zone'],
    ['2001:db8:0:1::1', '2001:db8:0:1:2:3:4:5'],
    ['::1'],
  ]) {
    for (const [index, address] of addresses.entries()) {
      const wire = get('/plants', { ...NO_TOKEN, 'X-Forwarded-For': address })
      await rejects(server, wire, index === 0 ? 40101 : 42900)
    }
  }
})

test('a flood of addresses is counted in bounded memory, and resets none that goes on beyond its limit', () => {
  const count = createRateLimit('auth-failures', { requests: 2, seconds: 2_000_000 })
  const response = { setHeader() {} } as unknown as Response
  const before = memoryInUse()
  for (let failure = 0; failure < 2; failure++) count('192.0.2.1', response)
  for (let address = 0; address < 200_000; address++) {
    count(`2001:db8:0:${address.toString(16)}::/64`, response)
    if (address % 10_000 === 0) expect(() => count('192.0.2.1', response)).toThrow(HttpError)
  }
  expect(memoryInUse() - before).toBeLessThan(20e6)
  count('192.0.2.2', response)
})

test('clients that hold nothing any more take no memory, and those that hold something are kept', () => {
  const share = createFairShare(100)
  for (let place = 0; place < 60; place++) share.take('alice')
  const before = memoryInUse()
  for (let client = 0; client < 100_000; client++) {
    share.take(`client ${client}`)
    share.release(`client ${client}`)
  }
  expect(memoryInUse() - before).toBeLessThan(5e6)
  expect([share.used(), share.heldBy('alice')]).toEqual([60, 60])
})

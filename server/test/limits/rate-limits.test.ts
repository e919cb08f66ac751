import type { Response } from 'express'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { memoryInUse } from '../../../test/helpers/memory-in-use.ts'
import { startTestServer } from '../../../test/helpers/server/start-test-server.ts'
import { addressKey } from '../../src/http/request/client-address.ts'
import { createRateLimit } from '../../src/http/request/rate-limit.ts'
import { HttpError } from '../../src/http-error.ts'
import { readSettings } from '../../src/index.ts'
import { get, NO_TOKEN, post } from '../helpers/wire/requests.ts'
import { accepts, rejects } from '../helpers/wire/wire.ts'

describe('per token', () => {
  test('requests beyond the limit get a 429 with Retry-After and RateLimit; another token is not affected', async () => {
    await using server = await startTestServer({ rateLimit: { requests: 2, seconds: 1 } })
    // A window must not end because the machine is busy. Differences of whole numbers are exact.
    const clock = vi.spyOn(performance, 'now').mockReturnValue(Math.ceil(performance.now()))
    onTestFinished(() => clock.mockRestore())
    const first = { 'RateLimit-Policy': '"rate-limit";q=2;w=1', RateLimit: '"rate-limit";r=1;t=1' }
    await accepts(server, get(), { headers: first })
    await accepts(server, post('{"id":1,"name":"Ficus"}'))

    // A clock that is put back a day does not make the window longer.
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() - 86_400_000 })
    onTestFinished(() => void vi.useRealTimers())
    const headers = { 'Retry-After': '1', RateLimit: '"rate-limit";r=0;t=1' }
    await rejects(server, post('{"id":2,"name":"Ficus"}'), 42900, { headers, message: /2 requests.*1 s/ })

    const { token } = await server.createToken({ account: 'alice' })
    await accepts({ ...server, token }, get(), { body: '[{"name":"Ficus"}]' })

    clock.mockReturnValue(performance.now() + 1_000)
    await accepts(server, get())
  })

  test('a window of 1.5 s is a whole number of seconds in every header', async () => {
    await using server = await startTestServer({ rateLimit: readSettings({ RATE_LIMIT: '1/1500ms' }).rateLimit })
    const headers = { 'RateLimit-Policy': '"rate-limit";q=1;w=2', RateLimit: '"rate-limit";r=0;t=2' }
    await accepts(server, get(), { headers })
  })
})

describe('failed authentication per address', () => {
  test('requests beyond the limit get a 429 instead of 401; a valid token, also without the scope, does not', async () => {
    await using server = await startTestServer({ authFailureLimit: { requests: 2, seconds: 60 } })
    const { token: writeOnly } = await server.createToken({ scopes: ['write'] })
    for (let count = 0; count < 3; count++) await rejects({ ...server, token: writeOnly }, get(), 40301)
    await rejects(server, get('/plants', NO_TOKEN), 40101)
    await rejects({ ...server, token: 'wrong' }, get(), 40102)
    await rejects({ ...server, token: writeOnly }, get(), 40301)
    await rejects({ ...server, token: 'wrong' }, get(), 42900, { headers: { 'Retry-After': /^[56]\d$/ } })
    // Without RATE_LIMIT there is no header.
    await accepts(server, get(), { headers: { RateLimit: null } })
  })

  test.each([
    ['is ignored by default', undefined, [401, 429, 429, 429, 429, 429, 429, 429, 429]],
    ['is trusted from one proxy', 1, [401, 429, 429, 401, 401, 429, 429, 429, 401]],
    ['is trusted from the address of the proxy', ['127.0.0.1'], [401, 429, 429, 401, 401, 429, 429, 429, 401]],
  ])('X-Forwarded-For, perhaps with the port of each connection, %s', async (_name, trustProxy, expected) => {
    await using server = await startTestServer({ trustProxy, authFailureLimit: { requests: 1, seconds: 60 } })
    const version4 = ['192.0.2.1:4711', '192.0.2.1:4712', '::ffff:c000:0201', '192.0.2.2']
    const version6 = ['[2001:db8::1]:4711', '[2001:db8::1%eth0]:4712', '2001:0DB8:0:0::2', '2001:db8:0::%zone']
    const statuses = []
    for (const address of [...version4, ...version6, '127.0.0.1']) {
      const headers = { 'x-forwarded-for': address }
      statuses.push((await server.call('/plants', { token: null, headers })).status)
    }
    expect(statuses).toEqual(expected)
  })
})

test('a flood of addresses is counted in bounded memory, and resets none that has reached its limit', () => {
  const count = createRateLimit('auth-failures', { requests: 2, seconds: 2_000_000 })
  const response = { setHeader() {} } as unknown as Response
  const before = memoryInUse()
  for (let failure = 0; failure < 2; failure++) count('192.0.2.1', response)
  for (let address = 0; address < 500_000; address++) count(`2001:db8:0:${address.toString(16)}::/64`, response)
  expect(memoryInUse() - before).toBeLessThan(20e6)
  expect(() => count('192.0.2.1', response)).toThrow(HttpError)
  count('192.0.2.2', response)
})

test.each([
  ['192.0.2.1', '192.0.2.1'],
  ['::ffff:192.0.2.1', '192.0.2.1'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:db8::1', '2001:db8:0:0::/64'],
  ['2001:db8:0:0:1::', '2001:db8:0:0::/64'],
  ['::1', '0:0:0:0::/64'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64'],
])('the address %s is counted as %s', (address, key) => {
  expect(addressKey(address)).toBe(key)
})

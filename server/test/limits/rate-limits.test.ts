import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { startTestServer } from '../../../test/helpers/server/start-test-server.ts'
import { readSettings } from '../../src/index.ts'
import { addressKey } from '../../src/limits/client-address.ts'

describe('per token', () => {
  test('requests beyond the limit get a 429 with Retry-After and RateLimit; another token is not affected', async () => {
    await using server = await startTestServer({ rateLimit: { requests: 2, seconds: 1 } })
    // A window must not end because the machine is busy. Differences of whole numbers are exact.
    const clock = vi.spyOn(performance, 'now').mockReturnValue(Math.ceil(performance.now()))
    onTestFinished(() => clock.mockRestore())
    const first = await server.call('/plants')
    expect(first.status).toBe(200)
    expect(first.headers.get('ratelimit-policy')).toBe('"rate-limit";q=2;w=1')
    expect(first.headers.get('ratelimit')).toBe('"rate-limit";r=1;t=1')
    expect((await server.post('{"id": 1, "name": "Ficus"}')).status).toBe(200)

    // A clock that is put back a day does not make the window longer.
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() - 86_400_000 })
    onTestFinished(() => void vi.useRealTimers())
    const rejected = await server.post('{"id": 2, "name": "Ficus"}')
    expect(rejected.status).toBe(429)
    expect(rejected.headers.get('retry-after')).toBe('1')
    expect(rejected.headers.get('ratelimit')).toBe('"rate-limit";r=0;t=1')
    expect(await rejected.json()).toEqual({ error: 42900, message: expect.stringMatching(/2 requests.*1 s/) })

    const { token } = await server.createToken({ account: 'alice' })
    const plants = await server.call('/plants', { token })
    expect(await plants.json()).toEqual([{ name: 'Ficus' }])

    clock.mockReturnValue(performance.now() + 1_000)
    expect((await server.call('/plants')).status).toBe(200)
  })

  test('a window of 1.5 s is a whole number of seconds in every header', async () => {
    await using server = await startTestServer({ rateLimit: readSettings({ RATE_LIMIT: '1/1500ms' }).rateLimit })
    const { headers } = await server.call('/plants')
    expect(headers.get('ratelimit-policy')).toBe('"rate-limit";q=1;w=2')
    expect(headers.get('ratelimit')).toBe('"rate-limit";r=0;t=2')
  })
})

describe('failed authentication per address', () => {
  test('requests beyond the limit get a 429 instead of 401; a valid token, also without the scope, does not', async () => {
    await using server = await startTestServer({ authFailureLimit: { requests: 2, seconds: 60 } })
    const { token: writeOnly } = await server.createToken({ scopes: ['write'] })
    const statuses = []
    for (const token of [writeOnly, writeOnly, writeOnly, null, 'wrong', writeOnly]) {
      statuses.push((await server.call('/plants', { token })).status)
    }
    expect(statuses).toEqual([403, 403, 403, 401, 401, 403])
    const rejected = await server.call('/plants', { token: 'wrong' })
    expect(rejected.status).toBe(429)
    expect(Number(rejected.headers.get('retry-after'))).toBeGreaterThan(50)
    expect(await rejected.json()).toMatchObject({ error: 42900 })
    const accepted = await server.call('/plants')
    expect(accepted.status).toBe(200)
    expect(accepted.headers.has('ratelimit'), 'without RATE_LIMIT there is no header').toBe(false)
  })

  test.each([
    ['is ignored by default', undefined, [401, 429, 429, 429, 429, 429]],
    ['is trusted from one proxy', 1, [401, 429, 429, 401, 401, 429]],
    ['is trusted from the address of the proxy', ['127.0.0.1'], [401, 429, 429, 401, 401, 429]],
  ])('X-Forwarded-For, perhaps with the port of each connection, %s', async (_name, trustProxy, expected) => {
    await using server = await startTestServer({ trustProxy, authFailureLimit: { requests: 1, seconds: 60 } })
    const ports = ['192.0.2.1:4711', '192.0.2.1:4712', '192.0.2.1', '192.0.2.2']
    const statuses = []
    for (const address of [...ports, '[2001:db8::1]:4711', '[2001:db8::1]:4712']) {
      statuses.push((await server.call('/plants', { token: null, headers: { 'x-forwarded-for': address } })).status)
    }
    expect(statuses).toEqual(expected)
  })
})

test.each([
  ['192.0.2.1', '192.0.2.1'],
  ['::ffff:192.0.2.1', '192.0.2.1'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:db8::1', '2001:db8:0:0::/64'],
  ['2001:DB8:0:0:1::', '2001:db8:0:0::/64'],
  ['::1', '0:0:0:0::/64'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64'],
])('the address %s is counted as %s', (address, key) => {
  expect(addressKey(address)).toBe(key)
})

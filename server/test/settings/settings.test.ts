import { expect, test } from 'vitest'
import { runCommand, startWithToken } from '../../../test/helpers/server/run-command.ts'
import { temporaryDatabase, temporaryFolder } from '../../../test/helpers/temporary-folder.ts'
import { readSettings } from '../../src/index.ts'

const TIMES = ['HEADERS_TIMEOUT', 'REQUEST_TIMEOUT', 'KEEP_ALIVE_TIMEOUT', 'STALL_TIMEOUT', 'SHUTDOWN_TIMEOUT']
const TIMES_OR_NONE = ['SHUTDOWN_DELAY']
const RATES = ['RATE_LIMIT', 'AUTH_FAILURE_LIMIT']
const COUNTS = ['MAX_CONNECTIONS', 'MAX_REQUESTS_IN_FLIGHT']

/** As long as the settings may be, so that no part of a time is longer than the whole. */
const LONG = { REQUEST_TIMEOUT: '24d', SHUTDOWN_TIMEOUT: '24d' }

test.each([
  ...[...TIMES, ...TIMES_OR_NONE].flatMap((name) => [
    [name, '25d', / between 1ms and 24d/],
    [name, '2147483648ms', / between 1ms and 24d/],
    [name, '999999999999999d', / between 1ms and 24d/],
    [name, '-1s', / between 1ms and 24d/],
    [name, 'soon', / between 1ms and 24d/],
  ]),
  ...RATES.flatMap((name) => [
    [name, '2/25d', / between 1s and 24d/],
    [name, '2/999999d', / between 1s and 24d/],
    [name, '2/999ms', / between 1s and 24d/],
    [name, '1000000000/1s', / between 1 and 999999999 /],
    [name, '0/1s', / between 1 and 999999999 /],
    [name, '2/1s/1s', / such as 100\/1s/],
    [name, '2', / such as 100\/1s/],
  ]),
  ...COUNTS.flatMap((name) => [
    [name, '1000000000', / between 1 and 999999999$/m],
    [name, '99999999999999999999', / between 1 and 999999999$/m],
    [name, '0', / between 1 and 999999999$/m],
    [name, '1.5', / between 1 and 999999999$/m],
  ]),
] as [string, string, RegExp][])('%s=%s is rejected with the largest value', (name, value, message) => {
  expect(() => readSettings({ ...LONG, [name]: value })).toThrow(
    new RegExp(`^  ${name} must be .*${message.source}`, 'm'),
  )
})

test('a time that is longer than the one it is part of is rejected with the largest value', () => {
  const environment = { HEADERS_TIMEOUT: '31s', SHUTDOWN_DELAY: '90s', SHUTDOWN_TIMEOUT: '1m' }
  expect(() => readSettings(environment)).toThrow(
    /^ {2}HEADERS_TIMEOUT must be at most 30s, as long as REQUEST_TIMEOUT\n {2}SHUTDOWN_DELAY must be at most 1m, as long as SHUTDOWN_TIMEOUT$/m,
  )
  expect(readSettings({ REQUEST_TIMEOUT: '1s', SHUTDOWN_TIMEOUT: '10ms' })).toMatchObject({ requestTimeout: 1_000 })
})

test('the largest times and counts are accepted: the server responds, and no timer overflows', async () => {
  const largest = Object.fromEntries([
    ...[...TIMES, ...TIMES_OR_NONE].map((name) => [name, '24d']),
    ...RATES.map((name) => [name, '999999999/24d']),
    ...COUNTS.map((name) => [name, '999999999']),
  ])
  const { server, token } = await startWithToken(temporaryFolder(), 'largest', { ...largest, SHUTDOWN_DELAY: '0' })
  const list = (authorization: string) => fetch(`${server.url}/plants`, { headers: { authorization } })
  const response = await list(`Bearer ${token}`)
  expect([response.status, await response.text()]).toEqual([200, '[]'])
  expect(response.headers.get('ratelimit-policy')).toBe('"rate-limit";q=999999999;w=2073600')
  expect(response.headers.get('ratelimit')).toBe('"rate-limit";r=999999998;t=2073600')
  // A window whose timer has overflowed is over before the next request.
  expect((await list(`Bearer ${token}`)).headers.get('ratelimit')).toMatch(/^"rate-limit";r=999999997;t=2073\d{3}$/)
  expect((await list('Bearer wrong')).status).toBe(401)
  expect(await server.end()).toBe(0)
  expect(server.output()).not.toContain('Warning')
})

test.each(['prod', 'PRD', 'Production', 'production ', '"production"', 'prodution'])(
  'NODE_ENV=%s is a warning',
  async (mode) => {
    const environment = { DATABASE_URL: temporaryDatabase().url, NODE_ENV: mode }
    const { exitCode, stderr } = await runCommand(['migrate'], environment)
    expect([exitCode, stderr]).toEqual([0, expect.stringContaining(`NODE_ENV=${mode} is not NODE_ENV=production`)])
  },
)

test.each(['production', 'development', 'test', 'staging', ''])('NODE_ENV=%s is not', async (mode) => {
  const environment = { DATABASE_URL: temporaryDatabase().url, NODE_ENV: mode }
  expect((await runCommand(['migrate'], environment)).stderr).not.toContain('NODE_ENV')
})

/** What every setting accepts and rejects, and how settings depend on each other. */
import { expect, test } from 'vitest'
import { startWithToken } from '../../../test/helpers/server/run-command.ts'
import { temporaryFolder } from '../../../test/helpers/temporary-folder.ts'
import { readSettings, type Settings } from '../../src/index.ts'
import { SettingsSchema, variableOf } from '../../src/settings.ts'

const MAX_TIME = 24 * 86_400_000
/** What keeps one setting from being rejected for another: the longest whole of which a time is part, and an issuer. */
const OTHERS = {
  SHUTDOWN_TIMEOUT: '24d',
  JWT_ISSUER: 'https://login.example.com/',
  JWT_AUDIENCE: 'https://plants.example.com',
  JWT_JWKS_URL: 'https://login.example.com/jwks.json',
}

/** The names of settings of one format, what they accept and how it is read, and by which sentence they reject what. */
type Format = [names: (keyof Settings)[], accepts: Record<string, unknown>, sentence: string, rejects: string[]]

const time = 'a time between 1ms and 24d, such as 250ms, 30s or 5m'
const times = { '1ms': 1, '12h': 43_200_000, '24d': MAX_TIME, [`${MAX_TIME}ms`]: MAX_TIME }
const noTimes = ['0s', '01s', '1', '1.5s', ' 1s', '1w', '25d', `${MAX_TIME + 1}ms`]
const itself = (...texts: string[]) => Object.fromEntries(texts.map((text) => [text, text]))

const FORMATS: Format[] = [
  [['requestTimeout', 'keepAliveTimeout', 'shutdownTimeout'], times, `must be ${time}`, ['0', ...noTimes]],
  [['shutdownDelay'], { 0: 0, ...times }, `must be 0 or ${time}`, noTimes],
  [
    ['maxConnections', 'maxRequestsInFlight'],
    { 1: 1, 999999999: 999_999_999 },
    'must be a whole number between 1 and 999999999',
    ['0', '01', '+1', '1e3', '1000000000', '1x'],
  ],
  [
    ['port', 'adminPort'],
    { 0: 0, 65535: 65_535 },
    'must be a port number, 0 to 65535 (0: any free one)',
    ['65536', '000080', '-1', '80 '],
  ],
  [
    ['rateLimit', 'authFailureLimit'],
    {
      '3/1500ms': { requests: 3, seconds: 1.5 },
      '999999999/24d': { requests: 999_999_999, seconds: MAX_TIME / 1_000 },
    },
    'must be a number of requests and a time between 1s and 24d, such as 100/1s or 6000/1m',
    ['1/', '0/1s', '1/999ms', '1000000000/1s', '1 / 1s'],
  ],
  [
    ['trustProxy'],
    { 1: 1, 99: 99, '10.0.0.0/32, ::1': ['10.0.0.0/32', '::1'], '::ffff:10.0.0.1': ['::ffff:10.0.0.1'] },
    'must be the number of proxies in front of the server, such as 1, or their addresses, such as 10.0.0.0/8,127.0.0.1',
    ['0', '100', 'loopback', '10.0.0.0/33', '::1/129', '1,'],
  ],
  [
    ['corsOrigins'],
    {
      'https://[::1]:8443, capacitor://localhost': ['https://[::1]:8443', 'capacitor://localhost'],
      'app://-,file://': ['app://-', 'file://'],
    },
    'must be origins as browsers send them, separated by commas, such as https://app.example.com,capacitor://localhost: in lower case, without a path or a default port, and neither "*" nor "null"',
    [
      ...['*', '*,null', 'app.example.com', 'https://a.b,', 'https://*.example.com', 'https://app.example.com/'],
      ...[
        'https://a.b:443',
        'capacitor://localhost/app',
        'https://A.b',
        'https://ada@a.b',
        'http://b\u00fccher.example',
      ],
    ],
  ],
  [
    ['publicUrl'],
    {
      ...itself('https://plants.example.com', 'https://[::1]:8080/a%20b'),
      'https://EXAMPLE.com/plants//': 'https://example.com/plants',
      // What would end the URL in the header Link is escaped.
      'https://example.com/a>"é': 'https://example.com/a%3E%22%C3%A9',
    },
    'must be an http or https URL without a user name, a query or a fragment, such as https://plants.example.com',
    ['plants.example.com', 'ftp://a.b', 'https:///a', ' https://a.b', 'https://a.b?c=1', 'https://c@a.b'],
  ],
  [
    ['jwtJwksUrl'],
    itself('https://a.b', ...['localhost:8080', '127.10.0.100', '[::1]:80'].map((host) => `http://${host}/k`)),
    'must be an https URL without a user name, such as https://login.example.com/jwks.json; http only on this machine',
    ['https://user@a.b/k', 'file:///k.json', 'http://a.b/k', 'http://localhost.a.b/k', 'http://localhost@a.b/k'],
  ],
  // The rest of the sentence is in prisma/test.
  [
    ['databaseUrl'],
    { 'file:/tmp/plants.db': 'file:///tmp/plants.db' },
    'does not start with "file:"',
    ['mysql://localhost/plants'],
  ],
  [['logLevel'], itself('fatal', 'silent'), 'must be one of fatal, error, warn, info, debug, trace, silent', ['INFO']],
  [['docs'], { on: true, off: false }, 'must be on or off', ['true']],
  [
    ['nodeEnv'],
    itself('staging', 'development'),
    'must be production, in lower case and without quotes, or a word that does not look like it',
    ['prod', '"production"', 'Production', 'production ', 'prodution'],
  ],
]

const rows = FORMATS.flatMap(([names, ...cases]) => names.map((name) => [variableOf(name), name, ...cases] as const))
test.each(rows)('%s accepts what fits its format, and rejects others with one sentence', (...row) => {
  const [variable, name, accepts, sentence, rejects] = row
  const read = (text: string) => readSettings({ ...OTHERS, [variable]: text })[name]
  for (const [text, value] of Object.entries(accepts)) expect(read(text), text).toEqual(value)
  for (const text of rejects) {
    expect(() => read(text), text).toThrow(`Fix these settings and start again:\n  ${variable} ${sentence}`)
  }
})

test('every setting has a row here, but for those that are any text', () => {
  const anyText = ['host', 'jwtIssuer', 'jwtAudience', 'adminHost']
  const tested = [...FORMATS.flatMap(([names]) => names), ...anyText]
  expect(tested.sort()).toEqual(Object.keys(SettingsSchema.shape).sort())
})

// documents.test.ts shows every default.
test('an empty variable counts as not set', () => {
  const defaults = readSettings({})
  expect(defaults).toMatchObject({ host: '127.0.0.1', port: 3_000, docs: true, shutdownDelay: 1_000 })
  expect(defaults.databaseUrl).toMatch(/^file:\/\/\/.*\/data\/plant-store\.db$/)
  expect(readSettings(Object.fromEntries(rows.map(([variable]) => [variable, ''])))).toEqual(defaults)
})

test('every mistake is named in one message', () => {
  const issuer = { JWT_ISSUER: 'https://login.example.com' }
  const environment = { PORT: 'http', MAX_CONNECTIONS: '0', DOCS: 'yes', NODE_ENV: 'production', ...issuer }
  const message = `Fix these settings and start again:
  PORT must be a port number, 0 to 65535 (0: any free one)
  DOCS must be on or off
  MAX_CONNECTIONS must be a whole number between 1 and 999999999
  DATABASE_URL must be set with NODE_ENV=production, such as file:/srv/plants.db or postgresql://localhost/plants
  JWT_AUDIENCE must be set too, since JWT_ISSUER is
  JWT_JWKS_URL must be set too, since JWT_ISSUER is`
  expect(() => readSettings(environment)).toThrow(expect.objectContaining({ name: 'SettingsError', message }))
})

test('the settings of an issuer need each other', () => {
  expect(readSettings(OTHERS)).toMatchObject({ jwtIssuer: OTHERS.JWT_ISSUER, jwtAudience: OTHERS.JWT_AUDIENCE })
  expect(() => readSettings({ ...OTHERS, JWT_ISSUER: '' })).toThrow('  JWT_ISSUER must be set too')
})

test('the delay of a shutdown is at most its time', () => {
  const equal = { SHUTDOWN_DELAY: '2h', SHUTDOWN_TIMEOUT: '2h' }
  expect(readSettings(equal)).toMatchObject({ shutdownDelay: 7_200_000, shutdownTimeout: 7_200_000 })
  expect(() => readSettings({ ...equal, SHUTDOWN_DELAY: '7200001ms' })).toThrow(/^ {2}SHUTDOWN_DELAY must be at most/m)
  // The server shortens a default.
  expect(readSettings({ SHUTDOWN_TIMEOUT: '10ms' })).toMatchObject({ shutdownTimeout: 10 })
})

test('the largest times and counts are accepted: the server responds, and no timer overflows', async () => {
  const largest = FORMATS.slice(0, 3).flatMap(([names, accepts]) =>
    names.map((name) => [variableOf(name), Object.keys(accepts).at(-1)]),
  )
  const rates = { RATE_LIMIT: '999999999/24d', AUTH_FAILURE_LIMIT: '999999999/24d' }
  const environment = { ...Object.fromEntries(largest), ...rates, SHUTDOWN_DELAY: '0' }
  const { server, token } = await startWithToken(temporaryFolder(), 'largest', environment)
  const list = (authorization: string) => fetch(`${server.url}/plants`, { headers: { authorization } })
  const response = await list(`Bearer ${token}`)
  expect([response.status, await response.text()]).toEqual([200, '[]'])
  expect(response.headers.get('ratelimit-policy')).toBe('"rate-limit";q=999999999;w=2073600')
  // A window whose timer has overflowed is over before the next request.
  expect((await list(`Bearer ${token}`)).headers.get('ratelimit')).toMatch(/^"rate-limit";r=999999997;t=2073\d{3}$/)
  expect((await list('Bearer wrong')).status).toBe(401)
  expect(await server.end()).toBe(0)
  expect(server.output()).not.toContain('Warning')
})

/** What every setting accepts and rejects, and how settings depend on each other. */
import { expect, test } from 'vitest'
import { startWithToken } from '../../../test/helpers/server/run-command.ts'
import { temporaryFolder } from '../../../test/helpers/temporary-folder.ts'
import { readSettings, type Settings } from '../../src/index.ts'
import { completeSettings } from '../../src/settings/settings.ts'
import { settingsTable } from '../../src/settings/table.ts'

const MIB = 2 ** 20
const MAX_TIME = 24 * 86_400_000
/** What keeps one setting from being rejected for another: the longest wholes of which a time is part, and an issuer. */
const OTHERS = {
  REQUEST_TIMEOUT: '24d',
  SHUTDOWN_TIMEOUT: '24d',
  JWT_ISSUER: 'https://login.example.com/',
  JWT_AUDIENCE: 'https://plants.example.com',
  JWT_JWKS_URL: 'https://login.example.com/jwks.json',
}

/** The names of settings of one format, what they accept and how it is read, and by which sentence they reject what. */
type Format = [names: string[], accepts: Record<string, unknown>, rejects: Record<string, string[]>]

const time = 'a time between 1ms and 24d, such as 250ms, 30s or 5m'
const times: Format[1] = {
  ...{ '1ms': 1, '1s': 1_000, '15m': 900_000, '12h': 43_200_000, '24d': MAX_TIME, [`${MAX_TIME}ms`]: MAX_TIME },
}
const noTimes = ['0s', '01s', '1', 's', '1.5s', ' 1s', '1s ', '1S', '1w', '1s1s', '-1s', '25d', `${MAX_TIME + 1}ms`]
noTimes.push('99999999999999999d')
const count = 'must be a whole number between 1 and 999999999'
const rate =
  'must be a number of requests between 1 and 999999999 and a time between 1s and 24d, such as 100/1s or 6000/1m'
const proxies =
  'must be the number of proxies in front of the server, such as 1, or their addresses, such as 10.0.0.0/8,127.0.0.1'
const origins =
  'must be origins separated by commas, such as https://app.example.com,capacitor://localhost; "*" and "null", which any site can send, are not supported'
const longOrigin = (origin: string, rest: string) =>
  `must have "${origin}" without "${rest}", since browsers send no path, query or default port: cut it`
const respelled = (origin: string) => `must have an origin as browsers send it: "${origin}"`
const url = 'must be an http or https URL, such as https://plants.example.com'
const keysUrl =
  'must be an https URL without a user name, such as https://login.example.com/jwks.json; http only on this machine'
// A regular expression that backtracks would take seconds.
const longUrl = `http://a.b/${'/'.repeat(300_000)}x`
const itself = (...texts: string[]) => Object.fromEntries(texts.map((text) => [text, text]))
const list = (...texts: string[]) => Object.fromEntries(texts.map((text) => [text, text.split(/, ?/)]))

const FORMATS: Format[] = [
  [
    ['HEADERS_TIMEOUT', 'REQUEST_TIMEOUT', 'KEEP_ALIVE_TIMEOUT', 'STALL_TIMEOUT', 'SHUTDOWN_TIMEOUT'],
    times,
    { [`must be ${time}`]: ['0', ...noTimes] },
  ],
  [['SHUTDOWN_DELAY'], { 0: 0, ...times }, { [`must be 0 or ${time}`]: noTimes }],
  [
    ['MAX_CONNECTIONS', 'MAX_REQUESTS_IN_FLIGHT'],
    { 1: 1, 10: 10, 999999999: 999_999_999 },
    { [count]: ['0', '01', '-1', '+1', '1.0', '1e3', '1000000000', '99999999999999999999', 'x1', '1x'] },
  ],
  [
    ['PORT', 'ADMIN_PORT'],
    { 0: 0, 1: 1, 65535: 65_535 },
    {
      'must be a port number, 0 to 65535 (0: any free one)': ['65536', '100000', '000080', '-1', '80.5', '0x50', '80 '],
    },
  ],
  [
    ['BODY_LIMIT'],
    { '1b': 1, '512kb': 512 * 1024, '1.25kb': 1_280, '1MB': MIB, '64mb': 64 * MIB },
    {
      'must be between 1b and 64mb': ['0b', '67108865b', '65mb'],
      'must be a size such as 512kb or 1mb': ['1gb', '1', '.5mb', '1.mb', 'x1mb', '1mbx', '-1mb'],
    },
  ],
  [
    ['MAX_RESPONSE_MEMORY', 'MAX_BODY_MEMORY'],
    { '1mb': MIB, '1.25gb': 1_280 * MIB, '16GB': 16_384 * MIB },
    {
      'must be between 1mb and 16gb': ['0.9mb', '16.1gb'],
      'must be a size such as 64mb or 1gb': ['1024kb', '64', 'x64mb', '64mbx'],
    },
  ],
  [
    ['RATE_LIMIT', 'AUTH_FAILURE_LIMIT'],
    {
      '6000/1m': { requests: 6_000, seconds: 60 },
      '3/1500ms': { requests: 3, seconds: 1.5 },
      '999999999/24d': { requests: 999_999_999, seconds: MAX_TIME / 1_000 },
    },
    { [rate]: ['1', '/1s', '1/', '0/1s', '1/0s', '1/999ms', '1/25d', '1000000000/1s', '1/1s/1s', '1 / 1s'] },
  ],
  [
    ['TRUST_PROXY'],
    {
      ...{ 1: 1, 99: 99 },
      ...list('10.0.0.0/0', '10.0.0.0/32, ::1', 'fd00::/8,::/0', '::ffff:10.0.0.1', 'fe80::1%eth0,fe80::%eth0/64'),
    },
    {
      [proxies]: [
        '0',
        '100',
        '-1',
        'loopback',
        '10.0.0.0/33',
        '::1/129',
        '10.0.0/8',
        '10.0.0.0/',
        '10.0.0.1%eth0',
        '1,',
      ],
    },
  ],
  [
    ['CORS_ORIGINS'],
    list(
      'https://app.example.com, http://localhost:5173',
      'https://[::1]:8443,capacitor://localhost,ionic://localhost,tauri://localhost,app://-,file://',
      'chrome-extension://abcdefghijklmnopabcdefghijklmnop, moz-extension://2c127fa4-62c7-7e4f-90e5-472b45eecfdc',
    ),
    {
      [origins]: ['*', 'null', '*,null', 'app.example.com', 'localhost:5173', 'https://a.b,', 'https://*.example.com'],
      [longOrigin('https://app.example.com', '/')]: [
        'https://app.example.com/',
        'http://a.b, https://app.example.com/',
      ],
      [longOrigin('http://localhost:5173', '/app?a=1#b')]: ['http://localhost:5173/app?a=1#b'],
      [longOrigin('https://[::1]', '?a=1')]: ['https://[::1]?a=1'],
      [longOrigin('capacitor://localhost', '/')]: ['capacitor://localhost/'],
      [longOrigin('moz-extension://2c127fa4', '/page.html')]: ['moz-extension://2c127fa4/page.html'],
      [longOrigin('https://a.b', ':443')]: ['https://a.b:443'],
      [longOrigin('http://a.b', ':080/')]: ['http://a.b:080/'],
      [respelled('https://a.b')]: ['HTTPS://a.b', 'https://A.b:443/', 'https://ada:secret@a.b'],
      [respelled('capacitor://localhost')]: ['Capacitor://localhost', 'capacitor://LOCALHOST/'],
      [respelled('http://xn--bcher-kva.example')]: ['http://bücher.example'],
      [respelled('http://127.0.0.1')]: ['http://127.1'],
    },
  ],
  [
    ['PUBLIC_URL'],
    {
      ...itself('https://plants.example.com', 'https://[::1]:8080/a%20b/@', longUrl),
      'https://EXAMPLE.com/a': 'https://example.com/a',
      'https://example.com/plants//': 'https://example.com/plants',
    },
    {
      [url]: [
        ...['plants.example.com', 'ftp://example.com', 'xhttp://example.com', 'httpsx://example.com', 'https:///a'],
        ...[...'><" \\{^`|é%\t\n'].map((character) => `https://example.com/a${character}b`),
        ...['https://example.com>', ' https://example.com', 'https://example.com/a%2', 'https://example.com:99999'],
      ],
      'must not have a query or a fragment': ['https://example.com?a=1', 'https://example.com#a'],
      'must not have a user name or a password': ['alice:secret@', 'alice@', '@'].map((user) => `https://${user}a.b`),
    },
  ],
  [
    ['JWT_JWKS_URL'],
    itself(
      'https://a.b',
      ...['localhost:8080', '127.0.0.1', '127.10.0.100', '[::1]:80'].map((host) => `http://${host}/k`),
    ),
    {
      [keysUrl]: [
        ...['https://user:password@a.b/k', 'https://user@a.b/k', 'ftp://localhost/k', 'file:///k.json', 'k'],
        ...['a.b', '127.0.0.1.a.b', 'localhost.a.b', 'localhost@a.b', 'xlocalhost', '[::2]'].map(
          (host) => `http://${host}/k`,
        ),
      ],
    },
  ],
  [
    ['DATABASE_URL'],
    { 'file:/tmp/plants.db': 'file:///tmp/plants.db' },
    // The rest of the sentence is in prisma/test.
    { 'does not start with "file:"': ['mysql://localhost/plants'] },
  ],
  [
    ['LOG_LEVEL'],
    itself('fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'),
    { 'must be one of fatal, error, warn, info, debug, trace, silent': ['verbose', 'INFO'] },
  ],
  [['DOCS', 'ACCESS_LOG'], { on: true, off: false }, { 'must be on or off': ['true', 'yes'] }],
]

const rows = FORMATS.flatMap(([names, ...cases]) => names.map((name) => [name, ...cases] as const))
test.each(rows)('%s accepts what fits its format, and rejects others with one sentence', (name, accepts, rejects) => {
  const key = name.toLowerCase().replace(/_(.)/g, (_match, letter: string) => letter.toUpperCase()) as keyof Settings
  const read = (text: string) => readSettings({ ...OTHERS, [name]: text })[key]
  for (const [text, value] of Object.entries(accepts)) expect(read(text), text).toEqual(value)
  for (const [sentence, texts] of Object.entries(rejects)) {
    const message = `Fix these settings and start again:\n  ${name} ${sentence}`
    const error = {
      name: 'SettingsError',
      message: name === 'DATABASE_URL' ? expect.stringContaining(message) : message,
    }
    for (const text of texts) expect(() => read(text), text).toThrow(expect.objectContaining(error))
  }
})

// documents.test.ts shows every default.
test('an empty variable counts as not set', () => {
  const defaults = readSettings({})
  expect(defaults).toMatchObject({ host: '127.0.0.1', port: 3_000, docs: true, maxBodyMemory: 64 * MIB })
  expect(defaults.databaseUrl).toMatch(/^file:\/\/\/.*\/data\/plant-store\.db$/)
  expect(readSettings(Object.fromEntries(Object.keys(settingsTable).map((name) => [name, ''])))).toEqual(defaults)
})

test('every mistake is named, in the order of the table and then across settings', () => {
  const environment = { PORT: 'http', MAX_CONNECTIONS: '0', JWT_ISSUER: 'https://login.example.com', DOCS: 'yes' }
  const message = `Fix these settings and start again:
  PORT must be a port number, 0 to 65535 (0: any free one)
  DOCS must be on or off
  MAX_CONNECTIONS must be a whole number between 1 and 999999999
  JWT_AUDIENCE must be set too, since JWT_ISSUER is
  JWT_JWKS_URL must be set too, since JWT_ISSUER is`
  expect(() => readSettings(environment)).toThrow(expect.objectContaining({ name: 'SettingsError', message }))
})

test.each(['JWT_ISSUER', 'JWT_AUDIENCE', 'JWT_JWKS_URL'])('the settings of an issuer need %s', (name) => {
  expect(readSettings(OTHERS)).toMatchObject({ jwtIssuer: OTHERS.JWT_ISSUER, jwtAudience: OTHERS.JWT_AUDIENCE })
  expect(() => readSettings({ ...OTHERS, [name]: '' })).toThrow(`  ${name} must be set too`)
})

test('a time may be as long as the one it is part of, and no longer; a default is shortened', () => {
  const equal = { HEADERS_TIMEOUT: '90s', REQUEST_TIMEOUT: '90s', SHUTDOWN_DELAY: '2h', SHUTDOWN_TIMEOUT: '2h' }
  expect(readSettings(equal)).toMatchObject({ headersTimeout: 90_000, shutdownDelay: 7_200_000 })
  expect(() => readSettings({ ...equal, HEADERS_TIMEOUT: '90001ms', SHUTDOWN_DELAY: '7200001ms' })).toThrow(
    /^ {2}HEADERS_TIMEOUT must be at most REQUEST_TIMEOUT, which is 90s\n {2}SHUTDOWN_DELAY must be at most SHUTDOWN_TIMEOUT, which is 2h$/m,
  )
  expect(() => readSettings({ HEADERS_TIMEOUT: '31s' })).toThrow('at most REQUEST_TIMEOUT, which is 30s')
  // One that is invalid is not compared.
  expect(() => readSettings({ ...equal, HEADERS_TIMEOUT: '90001ms', PORT: 'x' })).not.toThrow(/at most/)
  const short = readSettings({ REQUEST_TIMEOUT: '1s', SHUTDOWN_TIMEOUT: '10ms' })
  expect(short).toMatchObject({ requestTimeout: 1_000, headersTimeout: 1_000, shutdownDelay: 10 })
})

test('the memory of bodies is at least one body, and by default 64 MiB or four bodies', () => {
  const mebibytes = (environment: Record<string, string>) => readSettings(environment).maxBodyMemory / MIB
  expect(mebibytes({ BODY_LIMIT: '16mb' })).toBe(64)
  expect(mebibytes({ BODY_LIMIT: '17mb' })).toBe(68)
  expect(mebibytes({ BODY_LIMIT: '17mb', MAX_BODY_MEMORY: '17mb' })).toBe(17)
  expect(completeSettings({ bodyLimit: 128 * MIB }).maxBodyMemory / MIB).toBe(512)
  expect(completeSettings({ bodyLimit: MIB, maxBodyMemory: MIB }).maxBodyMemory / MIB).toBe(1)
  expect(() => mebibytes({ BODY_LIMIT: '17mb', MAX_BODY_MEMORY: '16.9mb' })).toThrow(
    '\n  BODY_LIMIT must be at most MAX_BODY_MEMORY, which is 16.9mb',
  )
})

test('the largest times and counts are accepted: the server responds, and no timer overflows', async () => {
  const largest = FORMATS.slice(0, 3).flatMap(([names, accepts]) =>
    names.map((name) => [name, Object.keys(accepts).at(-1)]),
  )
  const rates = { RATE_LIMIT: '999999999/24d', AUTH_FAILURE_LIMIT: '999999999/24d' }
  const environment = { ...Object.fromEntries(largest), ...rates, SHUTDOWN_DELAY: '0' }
  const { server, token } = await startWithToken(temporaryFolder(), 'largest', environment)
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

import { describe, expect, test } from 'vitest'
import { readSettings, SettingsError } from '../../src/index.ts'
import { completeSettings } from '../../src/settings/settings.ts'

const MAX_TIME = 24 * 86_400_000
/** As long as possible, so that no time is longer than the one it is part of. */
const LONG = { REQUEST_TIMEOUT: '24d', SHUTDOWN_TIMEOUT: '24d' }

/** The message for one setting. */
function mistakeIn(name: string, text: string): string {
  try {
    readSettings({ ...LONG, [name]: text })
  } catch (error) {
    expect(error).toBeInstanceOf(SettingsError)
    return (error as Error).message
  }
  return `${name}=${text} is accepted`
}

function expectRejected(name: string, text: string, message: string): void {
  expect(mistakeIn(name, text)).toBe(`Fix these settings and start again:\n  ${name} ${message}`)
}

test('an empty environment gives the defaults', () => {
  expect(readSettings({})).toEqual({
    host: '127.0.0.1',
    port: 3000,
    databaseUrl: expect.stringMatching(/^file:\/\/\/.*\/data\/plant-store\.db$/),
    publicUrl: undefined,
    logLevel: 'info',
    accessLog: false,
    nodeEnv: undefined,
    docs: true,
    bodyLimit: 2 ** 20,
    headersTimeout: 10_000,
    requestTimeout: 30_000,
    keepAliveTimeout: 5_000,
    stallTimeout: 40_000,
    rateLimit: undefined,
    authFailureLimit: undefined,
    trustProxy: undefined,
    corsOrigins: undefined,
    jwtIssuer: undefined,
    jwtAudience: undefined,
    jwtJwksUrl: undefined,
    maxConnections: 20_000,
    maxRequestsInFlight: 1_000,
    maxBodyMemory: 64 * 2 ** 20,
    maxResponseMemory: 64 * 2 ** 20,
    shutdownTimeout: 10_000,
    shutdownDelay: 1_000,
    adminPort: undefined,
    adminHost: '127.0.0.1',
  })
})

test('an empty variable counts as not set', () => {
  const names = ['HOST', 'PORT', 'DATABASE_URL', 'PUBLIC_URL', 'BODY_LIMIT', 'RATE_LIMIT', 'MAX_BODY_MEMORY']
  expect(readSettings(Object.fromEntries(names.map((name) => [name, ''])))).toEqual(readSettings({}))
})

test('every mistake is named, in the order of the table and then across settings', () => {
  const environment = { PORT: 'http', MAX_CONNECTIONS: '0', JWT_ISSUER: 'https://login.example.com', DOCS: 'yes' }
  expect(() => readSettings(environment)).toThrow(
    new SettingsError(
      [
        'Fix these settings and start again:',
        '  PORT must be a port number, 0 to 65535 (0: any free one)',
        '  DOCS must be on or off',
        '  MAX_CONNECTIONS must be a whole number between 1 and 999999999',
        '  JWT_AUDIENCE must be set too, since JWT_ISSUER is',
        '  JWT_JWKS_URL must be set too, since JWT_ISSUER is',
      ].join('\n'),
    ),
  )
  expect(() => readSettings(environment)).toThrow(expect.objectContaining({ name: 'SettingsError' }))
})

describe('times', () => {
  test.each([
    ['1ms', 1],
    ['250ms', 250],
    ['1s', 1_000],
    ['15m', 900_000],
    ['12h', 43_200_000],
    ['24d', MAX_TIME],
    [`${MAX_TIME}ms`, MAX_TIME],
    ['2073600s', MAX_TIME],
  ])('%s is read as %i ms', (text, milliseconds) => {
    expect(readSettings({ ...LONG, KEEP_ALIVE_TIMEOUT: text }).keepAliveTimeout).toBe(milliseconds)
    expect(readSettings({ ...LONG, SHUTDOWN_DELAY: text }).shutdownDelay).toBe(milliseconds)
  })

  test.each(['0', '0s', '01s', '1', 's', '1.5s', '1 s', ' 1s', '1s ', '1S', '1w', '25d', `${MAX_TIME + 1}ms`, '1s1s'])(
    '%j is rejected',
    (text) => {
      expectRejected('STALL_TIMEOUT', text, 'must be a time between 1ms and 24d, such as 250ms, 30s or 5m')
    },
  )

  test('one that is invalid is not compared with others', () => {
    expectRejected('HEADERS_TIMEOUT', 'soon', 'must be a time between 1ms and 24d, such as 250ms, 30s or 5m')
  })

  test('only some may be 0', () => {
    const settings = readSettings({ SHUTDOWN_DELAY: '0' })
    expect(settings).toMatchObject({ shutdownDelay: 0 })
    expectRejected('SHUTDOWN_DELAY', '00', 'must be 0 or a time between 1ms and 24d, such as 250ms, 30s or 5m')
  })

  test('a time may be as long as the one it is part of, and no longer', () => {
    const equal = { HEADERS_TIMEOUT: '90s', REQUEST_TIMEOUT: '90s', SHUTDOWN_DELAY: '2h', SHUTDOWN_TIMEOUT: '2h' }
    expect(readSettings(equal)).toMatchObject({ headersTimeout: 90_000, shutdownDelay: 7_200_000 })
    const longer = { ...equal, HEADERS_TIMEOUT: '90001ms', SHUTDOWN_DELAY: '7200001ms' }
    expect(() => readSettings(longer)).toThrow(
      /^ {2}HEADERS_TIMEOUT must be at most 90s, as long as REQUEST_TIMEOUT\n {2}SHUTDOWN_DELAY must be at most 2h, as long as SHUTDOWN_TIMEOUT$/m,
    )
  })

  test.each([
    ['1ms', '1ms'],
    ['1500ms', '1500ms'],
    ['1000ms', '1s'],
    ['60s', '1m'],
    ['120m', '2h'],
    ['48h', '2d'],
  ])('%s is written as %s', (text, written) => {
    expect(() => readSettings({ SHUTDOWN_DELAY: '3d', SHUTDOWN_TIMEOUT: text })).toThrow(` at most ${written}, `)
  })
})

describe('counts', () => {
  test.each([
    ['1', 1],
    ['10', 10],
    ['999999999', 999_999_999],
  ])('%s is accepted', (text, count) => {
    expect(readSettings({ MAX_CONNECTIONS: text }).maxConnections).toBe(count)
  })

  test.each(['0', '01', '-1', '+1', '1.0', '1e3', '1000000000', 'x1', '1x'])('%j is rejected', (text) => {
    expectRejected('MAX_REQUESTS_IN_FLIGHT', text, 'must be a whole number between 1 and 999999999')
  })
})

describe('ports', () => {
  test.each([
    ['0', 0],
    ['1', 1],
    ['8080', 8_080],
    ['65535', 65_535],
  ])('%s is accepted', (text, port) => {
    expect(readSettings({ PORT: text, ADMIN_PORT: text })).toMatchObject({ port, adminPort: port })
  })

  test.each(['65536', '99999', '100000', '000080', '-1', '80.5', '0x50', 'http', '80 '])('%j is rejected', (text) => {
    expectRejected('PORT', text, 'must be a port number, 0 to 65535 (0: any free one)')
  })
})

describe('sizes', () => {
  test.each([
    ['1b', 1],
    ['512kb', 512 * 1024],
    ['1.5kb', 1_536],
    ['1.25kb', 1_280],
    ['1MB', 2 ** 20],
    ['64mb', 64 * 2 ** 20],
  ])('of a body: %s is read as %i bytes', (text, size) => {
    expect(readSettings({ BODY_LIMIT: text }).bodyLimit).toBe(size)
  })

  test.each([
    ['0b', 'must be between 1b and 64mb'],
    ['67108865b', 'must be between 1b and 64mb'],
    ['65mb', 'must be between 1b and 64mb'],
    ['1gb', 'must be a size such as 512kb or 1mb'],
    ['1', 'must be a size such as 512kb or 1mb'],
    ['.5mb', 'must be a size such as 512kb or 1mb'],
    ['1.mb', 'must be a size such as 512kb or 1mb'],
    ['x1mb', 'must be a size such as 512kb or 1mb'],
    ['1mbx', 'must be a size such as 512kb or 1mb'],
    ['-1mb', 'must be a size such as 512kb or 1mb'],
  ])('of a body: %s is rejected', (text, message) => expectRejected('BODY_LIMIT', text, message))

  test.each([
    ['1mb', 2 ** 20],
    ['1.5gb', 1.5 * 2 ** 30],
    ['1.25gb', 1.25 * 2 ** 30],
    ['16GB', 16 * 2 ** 30],
  ])('of memory: %s is read as %i bytes', (text, size) => {
    expect(readSettings({ MAX_RESPONSE_MEMORY: text }).maxResponseMemory).toBe(size)
  })

  test.each([
    ['0.9mb', 'must be between 1mb and 16gb'],
    ['16.1gb', 'must be between 1mb and 16gb'],
    ['1024kb', 'must be a size such as 64mb or 1gb'],
    ['64', 'must be a size such as 64mb or 1gb'],
    ['x64mb', 'must be a size such as 64mb or 1gb'],
    ['64mbx', 'must be a size such as 64mb or 1gb'],
  ])('of memory: %s is rejected', (text, message) => expectRejected('MAX_RESPONSE_MEMORY', text, message))

  test('the memory of bodies is at least one body, and by default 64 MiB or four bodies', () => {
    const mebibytes = (environment: Record<string, string>) => readSettings(environment).maxBodyMemory / 2 ** 20
    expect(mebibytes({ BODY_LIMIT: '16mb' })).toBe(64)
    expect(mebibytes({ BODY_LIMIT: '17mb' })).toBe(68)
    expect(mebibytes({ BODY_LIMIT: '17mb', MAX_BODY_MEMORY: '17mb' })).toBe(17)
    expect(completeSettings({ bodyLimit: 128 * 2 ** 20 }).maxBodyMemory / 2 ** 20).toBe(512)
    expect(completeSettings({ bodyLimit: 2 ** 20, maxBodyMemory: 2 ** 20 }).maxBodyMemory / 2 ** 20).toBe(1)
    expect(() => mebibytes({ BODY_LIMIT: '17mb', MAX_BODY_MEMORY: '16.9mb' })).toThrow(
      '\n  MAX_BODY_MEMORY must not be less than BODY_LIMIT',
    )
  })
})

describe('rates', () => {
  test.each([
    ['1/1s', { requests: 1, seconds: 1 }],
    ['6000/1m', { requests: 6_000, seconds: 60 }],
    ['3/1500ms', { requests: 3, seconds: 1.5 }],
    ['999999999/24d', { requests: 999_999_999, seconds: MAX_TIME / 1_000 }],
  ])('%s is accepted', (text, rate) => {
    expect(readSettings({ RATE_LIMIT: text, AUTH_FAILURE_LIMIT: text })).toMatchObject({
      rateLimit: rate,
      authFailureLimit: rate,
    })
  })

  test.each(['1', '/1s', '1/', '0/1s', '1/0s', '1/999ms', '1/25d', '1000000000/1s', '1/1s/1s', '1/1s/', '1 / 1s'])(
    '%j is rejected',
    (text) => {
      expectRejected(
        'RATE_LIMIT',
        text,
        'must be a number of requests between 1 and 999999999 and a time between 1s and 24d, such as 100/1s or 6000/1m',
      )
    },
  )
})

describe('proxies', () => {
  test.each([
    ['1', 1],
    ['99', 99],
    ['127.0.0.1', ['127.0.0.1']],
    ['10.0.0.0/0', ['10.0.0.0/0']],
    ['10.0.0.0/32, ::1', ['10.0.0.0/32', '::1']],
    ['fd00::/8,::/0,::1/128', ['fd00::/8', '::/0', '::1/128']],
    ['::ffff:10.0.0.1', ['::ffff:10.0.0.1']],
    ['fe80::1%eth0,fe80::%eth0/64', ['fe80::1%eth0', 'fe80::%eth0/64']],
    ['10.0.0.0/08', ['10.0.0.0/08']],
  ])('%s is accepted', (text, trustProxy) => {
    expect(readSettings({ TRUST_PROXY: text }).trustProxy).toEqual(trustProxy)
  })

  test.each([
    '0',
    '100',
    '-1',
    'loopback',
    '10.0.0.0/33',
    '::1/129',
    '10.0.0/8',
    '10.0.0.0/',
    '10.0.0.0/8/8',
    '10.0.0.1%eth0',
    '1,',
    'x',
  ])('%j is rejected', (text) => {
    expectRejected(
      'TRUST_PROXY',
      text,
      'must be the number of proxies in front of the server, such as 1, or their addresses, such as 10.0.0.0/8,127.0.0.1',
    )
  })
})

describe('origins', () => {
  test('are separated by commas, with or without spaces', () => {
    const { corsOrigins } = readSettings({ CORS_ORIGINS: 'https://app.example.com, http://localhost:5173' })
    expect(corsOrigins).toEqual(['https://app.example.com', 'http://localhost:5173'])
  })

  test.each(['*', 'app.example.com', 'https://app.example.com/', 'https://app.example.com,', 'null', 'HTTPS://A.B'])(
    '%j is rejected',
    (text) => {
      expectRejected(
        'CORS_ORIGINS',
        text,
        'must be origins separated by commas, such as https://app.example.com,http://localhost:5173; "*" is not supported',
      )
    },
  )
})

describe('URLs', () => {
  test.each([
    ['https://plants.example.com', 'https://plants.example.com'],
    ['http://localhost:8080/', 'http://localhost:8080'],
    ['https://example.com/plants//', 'https://example.com/plants'],
  ])('the public URL %s is read as %s', (text, url) => {
    expect(readSettings({ PUBLIC_URL: text }).publicUrl).toBe(url)
  })

  test.each([
    ['plants.example.com', 'must be an http or https URL, such as https://plants.example.com'],
    ['ftp://example.com', 'must be an http or https URL, such as https://plants.example.com'],
    ['xhttp://example.com', 'must be an http or https URL, such as https://plants.example.com'],
    ['httpsx://example.com', 'must be an http or https URL, such as https://plants.example.com'],
    ['https://example.com?a=1', 'must not have a query or a fragment'],
    ['https://example.com#a', 'must not have a query or a fragment'],
  ])('the public URL %s is rejected', (text, message) => expectRejected('PUBLIC_URL', text, message))

  test.each([
    'https://user@login.example.com/keys',
    'https://:password@login.example.com/keys',
    'http://login.example.com/keys',
    'http://127.0.0.1.example.com/keys',
    'http://xlocalhost/keys',
    'http://[::2]/keys',
    'ftp://localhost/keys',
    'keys',
  ])('the URL of keys %s is rejected', (text) => {
    expect(mistakeIn('JWT_JWKS_URL', text)).toContain(
      '\n  JWT_JWKS_URL must be an https URL without a user name, such as https://login.example.com/jwks.json; http only on this machine',
    )
  })

  test('the database URL is made absolute, and only file: is accepted', () => {
    expect(readSettings({ DATABASE_URL: 'file:/tmp/plants.db' }).databaseUrl).toBe('file:///tmp/plants.db')
    expect(mistakeIn('DATABASE_URL', 'mysql://localhost/plants')).toContain(
      '\n  DATABASE_URL does not start with "file:"',
    )
  })
})

describe('words', () => {
  test.each(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'])('LOG_LEVEL=%s is accepted', (level) => {
    expect(readSettings({ LOG_LEVEL: level }).logLevel).toBe(level)
  })

  test('others are rejected with those that are accepted', () => {
    expectRejected('LOG_LEVEL', 'verbose', 'must be one of fatal, error, warn, info, debug, trace, silent')
    expectRejected('DOCS', 'true', 'must be on or off')
  })

  test('DOCS is read as a boolean', () => {
    expect([readSettings({ DOCS: 'on' }).docs, readSettings({ DOCS: 'off' }).docs]).toEqual([true, false])
  })
})

/**
 * What each format of a setting accepts and rejects, how settings depend on each other, and the files that list them.
 */

import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import type * as z from 'zod'
import { OperatorError, readSettings, type Settings } from '../../src/index.ts'
import { SettingsSchema, variableOf } from '../../src/settings.ts'

const MAX_TIME = 24 * 86_400_000
const settingNames = Object.keys(SettingsSchema.shape).map(variableOf)
/** What keeps one setting from being rejected for another: the longest whole of which a time is part, and an issuer. */
const OTHERS = {
  SHUTDOWN_TIMEOUT: '24d',
  JWT_ISSUER: 'https://login.example.com/',
  JWT_AUDIENCE: 'https://plants.example.com',
  JWT_JWKS_URL: 'https://login.example.com/jwks.json',
}

/** One setting of each format, how it reads what it accepts, and what it rejects. */
const FORMATS: [name: keyof Settings, accepts: Record<string, unknown>, rejects: string[]][] = [
  ['requestTimeout', { '1ms': 1, '12h': 43_200_000, '24d': MAX_TIME }, ['0', '01s', '1', '1.5s', '1 s', '1w', '25d']],
  ['shutdownDelay', { 0: 0, [`${MAX_TIME}ms`]: MAX_TIME }, ['0s', `${MAX_TIME + 1}ms`]],
  ['maxConnections', { 1: 1, 999999999: 999_999_999 }, ['0', '01', '+1', '1e3', '1000000000', '1x']],
  ['port', { 0: 0, 65535: 65_535 }, ['65536', '000080', '-1', '8 0']],
  ['rateLimit', { '3/1500ms': { requests: 3, seconds: 1.5 } }, ['1/', '0/1s', '1/999ms', '1000000000/1s', '1 / 1s']],
  [
    'trustProxy',
    { 1: 1, 99: 99, '10.0.0.0/32, ::1': ['10.0.0.0/32', '::1'], '::ffff:10.0.0.1': ['::ffff:10.0.0.1'] },
    ['0', '100', 'loopback', '10.0.0.0/33', '::1/129', '1,', '0.0.0.0/0', '::/0', '010.0.0.1', '::1%eth0'],
  ],
  [
    'corsOrigins',
    {
      'https://[::1]:8443, capacitor://localhost': ['https://[::1]:8443', 'capacitor://localhost'],
      'app://-,file://': ['app://-', 'file://'],
    },
    [
      ...['*', '*,null', 'app.example.com', 'https://a.b,', 'https://*.example.com', 'https://ada:secret@a.b'],
      ...['HTTP://a.b', 'https://a.b:443', 'capacitor://localhost/app', 'http://b\u00fccher.example'],
    ],
  ],
  [
    'publicUrl',
    {
      'https://[::1]:8080/a%20b': 'https://[::1]:8080/a%20b',
      'https://EXAMPLE.com/plants//': 'https://example.com/plants',
      // What would end the URL in the header Link is escaped.
      'https://example.com/a>"é': 'https://example.com/a%3E%22%C3%A9',
    },
    ['plants.example.com', 'ftp://a.b', 'https:///a', 'https://a.b?c=1', 'https://c@a.b'],
  ],
  [
    'jwtJwksUrl',
    { 'https://a.b': 'https://a.b', 'http://127.10.0.100': 'http://127.10.0.100', 'http://[::1]/k': 'http://[::1]/k' },
    ['https://user@a.b/k', 'file:///k.json', 'http://a.b/k', 'http://localhost.a.b/k', 'http://localhost@a.b/k'],
  ],
  ['databaseUrl', { 'file:/tmp/plants.db': 'file:///tmp/plants.db' }, ['mysql://localhost/plants']],
  ['logLevel', { fatal: 'fatal', silent: 'silent' }, ['INFO']],
  ['docs', { on: true, off: false }, ['true']],
  ['nodeEnv', { staging: 'staging' }, ['prod', '"production"', 'Production', 'prodution']],
]

/** White space at the ends is not part of a value. */
const SPACES = ['', '\n', '\r\n', ' ', '\t', '\u00A0', '\uFEFF', '\u2028']
test.each(FORMATS)('%s accepts what fits its format, and rejects the rest with one sentence', (...row) => {
  const [name, accepts, rejects] = row
  const variable = variableOf(name)
  const read = (text: string) => readSettings({ ...OTHERS, [variable]: text })[name]
  for (const [text, value] of Object.entries(accepts)) {
    for (const space of SPACES) expect(read(space + text + space), JSON.stringify(space + text)).toEqual(value)
  }
  const message = new RegExp(`^Fix these settings and start again:\n {2}${variable} (?:must|does not) [^\n]+$`)
  for (const text of rejects) expect(() => read(text), text).toThrow(message)
})

const IN_QUOTES = 'must not be in quotes: remove them (docker --env-file keeps them)'
const BROKEN = 'must not contain a line break or another invisible character'
test.each<[what: string, text: string, reason: string, names: readonly string[]]>([
  ['a value in quotes', ' "https://id.example.com"\n', IN_QUOTES, settingNames],
  ['a value in single quotes', "'https://id.example.com'", IN_QUOTES, settingNames],
  ['a value in backticks', '`https://id.example.com`', IN_QUOTES, settingNames],
  ['a line break in a value', 'a\nb', BROKEN, ['HOST', 'DATABASE_URL', 'JWT_AUDIENCE', 'JWT_JWKS_URL', 'NODE_ENV']],
])('%s is named', (_what, text, reason, names) => {
  for (const name of names) {
    const message = `Fix these settings and start again:\n  ${name} ${reason}`
    expect(() => readSettings({ ...OTHERS, [name]: text })).toThrow(new OperatorError(message))
  }
  expect(readSettings({ ...OTHERS, JWT_AUDIENCE: `it's "here"` }).jwtAudience).toBe(`it's "here"`)
})

// .env.example shows every default.
test('an empty variable counts as not set', () => {
  const defaults = readSettings({})
  expect(defaults).toMatchObject({ host: '127.0.0.1', port: 3_000, docs: true, shutdownDelay: 1_000 })
  expect(defaults.databaseUrl).toMatch(/^file:\/\/\/.*\/data\/plant-store\.db$/)
  for (const text of ['', ' \n']) {
    expect(readSettings(Object.fromEntries(settingNames.map((name) => [name, text])))).toEqual(defaults)
  }
})

test('every mistake is named in one message, also settings of an issuer that are missing', () => {
  const others = { JWT_ISSUER: 'https://login.example.com', CORS_ORIGINS: 'https://a.b:443/' }
  const environment = { PORT: 'http', MAX_CONNECTIONS: '0', DOCS: 'yes', NODE_ENV: 'production', ...others }
  const message = `Fix these settings and start again:
  PORT must be a port number, 0 to 65535 (0: any free one)
  DOCS must be on or off
  CORS_ORIGINS must be origins as browsers send them, separated by commas, such as https://app.example.com,capacitor://localhost: in lower case, without a path or a default port, and neither "*" nor "null"
  MAX_CONNECTIONS must be a whole number between 1 and 999999999
  DATABASE_URL must be set with NODE_ENV=production, such as file:/srv/plants.db or postgresql://localhost/plants
  JWT_AUDIENCE must be set too, since JWT_ISSUER is
  JWT_JWKS_URL must be set too, since JWT_ISSUER is`
  expect(() => readSettings(environment)).toThrow(expect.objectContaining({ name: 'OperatorError', message }))
  expect(() => readSettings({ ...OTHERS, JWT_ISSUER: '' })).toThrow('  JWT_ISSUER must be set too')
})

test('the delay of a shutdown is at most its time', () => {
  const equal = { SHUTDOWN_DELAY: '2h', SHUTDOWN_TIMEOUT: '2h' }
  expect(readSettings(equal)).toMatchObject({ shutdownDelay: 7_200_000, shutdownTimeout: 7_200_000 })
  expect(() => readSettings({ ...equal, SHUTDOWN_DELAY: '7200001ms' })).toThrow(/^ {2}SHUTDOWN_DELAY must be at most/m)
  // The server shortens a default.
  expect(readSettings({ SHUTDOWN_TIMEOUT: '10ms' })).toMatchObject({ shutdownTimeout: 10 })
})

const TABLE = /^\| variable \| default \| meaning \|\n(?:\|.*\n)+/m
const settings = Object.entries<z.ZodType>(SettingsSchema.shape).map(([name, schema]) => {
  const { def } = schema as z.ZodPrefault | z.ZodOptional
  return {
    variable: variableOf(name),
    schema,
    description: schema.description ?? '',
    default: 'defaultValue' in def ? String(def.defaultValue) : undefined,
    example: [schema.meta()?.['examples']].flat()[0] as string | undefined,
  }
})

test('.env.example lists every setting with its description, and its default or an example', async () => {
  const blocks = settings.map(({ variable, description, example, ...setting }) => {
    const line = setting.default === undefined ? `# ${variable}=${example}` : `${variable}=${setting.default}`
    return `\n${wrap(description)}${line}\n`
  })
  const file = pathOf('.env.example')
  const [head] = (await readFile(file, 'utf8')).split(/^$/m)
  await expect(head + blocks.join('')).toMatchFileSnapshot(file)
})

test('the table of settings in the README lists every setting with its default and description', async () => {
  const rows = settings.map(({ variable, description, ...setting }) => {
    const value = setting.default === undefined ? 'not set' : `\`${setting.default}\``
    return `| \`${variable}\` | ${value} | ${description} |`
  })
  const file = pathOf('server/README.md')
  const text = await readFile(file, 'utf8')
  expect(text).toMatch(TABLE)
  const expected = ['| variable | default | meaning |', '|---|---|---|', ...rows, ''].join('\n')
  await expect(text.replace(TABLE, () => expected)).toMatchFileSnapshot(file)
})

test('every setting has a description, and a valid default or example', () => {
  for (const { variable, schema, description, example, ...setting } of settings) {
    expect([variable, description]).toEqual([variable, expect.stringMatching(/\.$/)])
    expect(schema.safeParse(setting.default ?? example).error, variable).toBeUndefined()
  }
})

function pathOf(name: string): string {
  return fileURLToPath(new URL(`../../../${name}`, import.meta.url))
}

/** Breaks text into comment lines of at most 120 characters. */
function wrap(text: string): string {
  return text.replaceAll(/(.{1,118})(?: |$)/g, '# $1\n')
}

import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { root } from '../../test/helpers/programs.ts'
import { temporaryFolder } from '../../test/helpers/temporary.ts'
import { readSettingsFile } from '../src/environment.ts'

function write(content: string | Buffer): string {
  const file = path.join(temporaryFolder(), '.env')
  writeFileSync(file, content)
  return file
}

test.each([
  ['a byte order mark', '\uFEFFPORT=8090\nHOST=::1\n', { PORT: '8090', HOST: '::1' }],
  ['the line ends of Windows', 'PORT=8090\r\nHOST="a b"\r\n', { PORT: '8090', HOST: 'a b' }],
  ['the line ends of old Macs', 'PORT=8090\rHOST=::1\r', { PORT: '8090', HOST: '::1' }],
  ['export, and spaces', 'export PORT=8090\n\texport\tHOST = ::1 \n', { PORT: '8090', HOST: '::1' }],
  ['comments', '# PORT: 1\n\n  # $HOME\nPORT=8090 # "free"\nHOST="a # b"\t# c', { PORT: '8090', HOST: 'a # b' }],
  ['an empty value', 'A=\nB=   \nC=""\nD= # none\nPORT=8090', { A: '', B: '', C: '', D: '', PORT: '8090' }],
  ['quotes', `A='"x" $Y'\nB="it's"\nC=\`"'\`\nD=it's "x"`, { A: '"x" $Y', B: "it's", C: `"'`, D: `it's "x"` }],
  ['escapes', 'A="x\\ny"\nB=\'x\\ny\'\nC=C:\\new', { A: 'x\ny', B: 'x\\ny', C: 'C:\\new' }],
  ['signs in a value', 'A=a=b\nB=\'5$\'\nD="C#/ä?b"\nE=--x;y&z', { A: 'a=b', B: '5$', D: 'C#/ä?b', E: '--x;y&z' }],
  ['nothing', '', {}],
])('%s: are read as by Node.js', (_what, text, expected) => {
  expect(Object.fromEntries(readSettingsFile(write(text)))).toEqual(expected)
})

test.each(['.env.example', 'docs/production/plant-store.env'])('%s can be read', (name) => {
  expect(readSettingsFile(root + name).get('DATABASE_URL')).toMatch(/^file:/)
})

const REJECTED = {
  'write NAME=value on one line, and put a value with #, $ or quotes in single quotes': [
    ...['PORT: 8090', 'PORT', 'export PORT', '=8090', 'set PORT=8090', '8PORT=90', '; comment', '\u00A0PORT=8090'],
    ...[`A=file:$\{DB}`, 'A=$HOME/x', 'export A="$B"', 'A=5$'],
    ...['A="x', 'A="x"y', 'A="a\\"b"', 'A="x\nB="y"\nC=1', 'A="x"#y', "A='\nx'"],
    ...['A=#b', 'A=file:./C# apps/plants.db'],
  ],
  'HOST is set in a line above, too: remove one of them': ['HOST=::1', 'export HOST = '],
  'this is not text in UTF-8: save the file in this encoding': ['A=a\0b', 'A=\uFFFD'],
}

test.each(Object.entries(REJECTED))('%s', (mistake, entries) => {
  for (const entry of entries) {
    const file = write(`\uFEFFHOST=::1\r\n\r\n${entry}\r\nDOCS=on\r\n`)
    expect(() => readSettingsFile(file), entry).toThrow(new Error(`${file}, line 3: ${mistake}`))
  }
})

const SETTINGS = [
  'HOST',
  'PORT',
  'DOCS',
  'DATABASE_URL',
  'ADMIN_PORT',
  'ADMIN_HOST',
  'RATE_LIMIT',
  'CORS_ORIGINS',
  'NODE_ENV',
]

/** Each with the setting that is meant. */
const MISSPELT = `PROT PORT, PRT PORT, PORRT PORT, HOTS HOST, DOC DOCS, POST HOST, RATE_LIMT RATE_LIMIT, RATELIMITS RATE_LIMIT,
  DATABASE_URI DATABASE_URL, port PORT, DTABASE_ULR DATABASE_URL, ADMIN_PROT ADMIN_PORT, admin_host ADMIN_HOST, CORS_ORIGIN CORS_ORIGINS,
  NODENV NODE_ENV`

test.each(MISSPELT.split(/,\s+/).map((pair) => pair.split(' ')))(
  '%s in a file is an error that names %s',
  (name = '', meant) => {
    const file = write(`HOST=::1\n\nexport ${name}=1\n`)
    const message = `${file}, line 3: ${name} is not a setting, but ${meant} is: correct or remove the line`
    expect(() => readSettingsFile(file, SETTINGS)).toThrow(new Error(message))
    expect(readSettingsFile(file).get(name)).toBe('1')
  },
)

test('other names may be for other programs', () => {
  const names = `PGPORT PGHOST PGUSER PGPASSWORD PGSSLMODE POSTGRES_PASSWORD COMPOSE_PROFILES COMPOSE_FILE NODE_OPTIONS
    NODE_EXTRA_CA_CERTS HTTP_PROXY NO_PROXY HOME PATH USER SHELL PWD LANG TZ TERM HOSTS PORTS HOSTNAME TOKEN DEBUG MODE TEST
    ROOT LOGS DB_HOST DB_PORT DB_URL REDIS_URL APP_PORT HTTP_PORT SMTP_HOST BASE_URL API_URL LOG_FORMAT SQLITE_TMPDIR
    UV_THREADPOOL_SIZE CI VERSION IMAGE DOMAIN JWT_SECRET _ p`.split(/\s+/)
  const file = write(names.map((name) => `${name}=1`).join('\n'))
  expect([...readSettingsFile(file, [...SETTINGS, 'PUBLIC_URL', 'JWT_ISSUER', 'LOG_LEVEL']).keys()]).toEqual(names)
})

test.each([
  ['UTF-16', Buffer.from('\uFEFFPORT=8090\n', 'utf16le'), 1],
  ['Latin-1', Buffer.from('PORT=8090\nJWT_AUDIENCE=plänts\n', 'latin1'), 2],
])('a file in %s is rejected', (_encoding, content, line) => {
  const file = write(content)
  const message = `${file}, line ${line}: this is not text in UTF-8: save the file in this encoding`
  expect(() => readSettingsFile(file)).toThrow(new Error(message))
})

test('a missing file has no settings; one that cannot be read is named', () => {
  const folder = temporaryFolder()
  const file = path.join(folder, '.env')
  expect(readSettingsFile(file).size).toBe(0)
  const reads = (code: string) =>
    expect(() => readSettingsFile(file)).toThrow(
      new Error(`${file} cannot be read (${code}): it must be a file that this user may read`),
    )
  symlinkSync('missing', file)
  reads('ENOENT')
  mkdirSync(path.join(folder, 'missing'))
  reads('EISDIR')
})

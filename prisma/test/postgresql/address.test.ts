import { describe, expect, test, vi } from 'vitest'
import { readGuide } from '../../../test/helpers/production/guide.ts'
import { databaseUrl } from '../../src/address.ts'
import { backupDatabase } from '../../src/database.ts'
import { StorageError } from '../../src/index.ts'
import { readAddress } from '../../src/postgresql/address.ts'

/** A URL of a Unix socket, with a port. */
const SOCKET = 'postgresql://u:p@localhost:6432/d?host=/var/run/postgresql'

const SUPPORTED =
  'those that are: application_name, connection_limit, host, options, pgbouncer, port, sslcert, sslkey, sslmode, sslrootcert;'

describe('readAddress', () => {
  test.each([
    ['postgresql://u:p@db.example:6432/plants', { host: 'db.example', port: 6432, database: 'plants', user: 'u' }],
    ['postgres:///plants', { host: 'localhost', port: 5432 }],
    ['postgresql://[::1]:6432/plants', { host: '::1', port: 6432 }],
    [SOCKET, { host: '/var/run/postgresql', port: 6432, user: 'u' }],
    ['postgresql://u:p@ss:word@h/d', { host: 'h', user: 'u' }],
    ['postgresql://h/d?sslmode=verify-full&sslrootcert=system', { ssl: { host: 'h' } }],
    ['postgresql://h/d?sslmode=require', { ssl: { rejectUnauthorized: false } }],
    ['postgresql://h/d?sslmode=require&sslcert=/dev/null&sslkey=/dev/null', { ssl: { cert: '', key: '' } }],
    ['postgresql://h/d?sslmode=disable', { ssl: false }],
    ['postgresql://h/d?application_name=shop', { application_name: 'shop' }],
    ['postgresql://h/d?options=-c%20search_path%3Dplants', { options: '-c search_path=plants' }],
  ])('reads %s', (url, config) => {
    expect(readAddress(url).config).toMatchObject(config)
  })

  test('reads what the driver does not take', () => {
    const pooled = { isPooled: true, connectionLimit: 2 }
    expect(readAddress('postgresql://h/d?pgbouncer=true&connection_limit=2')).toMatchObject(pooled)
  })

  test.each([
    ['postgresql://u:se/cret@h/d', 'is not a URL'],
    ['postgresql://u:secret@h', 'names no database'],
    ['postgresql://h/d?sslmode=require&sslrootcert=/none.pem', 'has parameters of TLS that cannot be used (ENOENT'],
    ['postgresql://h/d?pgbouncer=yes', 'has an invalid value of the parameter "pgbouncer"'],
    ['postgresql://h/d?connection_limit=1', 'has an invalid value of the parameter "connection_limit"'],
    ['postgresql://h/d?sslmod=require', `has the parameter "sslmod", which is not supported: remove it; ${SUPPORTED}`],
    ['postgresql://h/d?toString=1', 'has the parameter "toString", which is not supported: '],
    ['postgresql://h/d?sslrootcert=system&sslmode=require', 'has sslrootcert=system: add sslmode=verify-full'],
    ['postgresql://u:secret@h:1,i:2/d', 'is not a URL'],
  ])('rejects %s', (url, reason) => {
    const read = () => readAddress(url)
    expect(read).toThrow(StorageError)
    expect(read).toThrow(`DATABASE_URL ${reason}`)
    expect(read).toThrow(/; write for example postgresql:\/\/user:password@localhost:5432\/plants$/)
    expect(read).not.toThrow(/secret|cret|100%/)
  })
})

test.each(
  `HOST PORT USER DATABASE PASSFILE SSLMODE SSLROOTCERT SSLCERT SSLKEY OPTIONS CHANNELBINDING TARGETSESSIONATTRS
   GSSENCMODE REQUIRESSL SERVICE SERVICEFILE HOSTADDR REQUIREAUTH REQUIREPEER SSL SSLCRL SSLCRLDIR SSLNEGOTIATION
   SSLMINPROTOCOLVERSION SSLMAXPROTOCOLVERSION BINARY REPLICATION CLIENT_ENCODING`.split(/\s+/),
)('what libpq or the driver reads and the URL lacks stops the startup: PG%s', (name) => {
  const variable = `PG${name}`
  vi.stubEnv(variable, '1')
  const reason = `does not say what ${variable} does, which is not read: add that to it, or unset ${variable}`
  expect(() => databaseUrl('postgresql:///')).toThrow(`DATABASE_URL ${reason}; write for example postgresql://`)
  expect(databaseUrl('file:/plants.db')).toMatch(/plants\.db$/)
})

test.each(['PGHOST', 'PGSSLMODE', 'PGOPTIONS', 'PGAPPNAME'])('%s changes nothing that the URL says', (name) => {
  const url = 'postgresql://u:p@h:2/d?sslmode=disable&options=-cc%3Dd'
  const without = readAddress(url)
  vi.stubEnv(name, 'other')
  const { password, ...config } = without.config
  expect(readAddress(url)).toMatchObject({ ...without, config })
})

test.each([
  ['/none', 'cannot be read'],
  ['/dev/null', 'is empty'],
])('a password file that has none is named: %s %s', async (file, reason) => {
  vi.stubEnv('PGPASSWORD_FILE', file)
  const { password } = readAddress('postgresql://u@h/d').config
  const read = async () => (password as () => unknown)()
  await expect(read()).rejects.toThrow(`gets no password: the file that PGPASSWORD_FILE names ${reason}`)
})

test('the guide lists the parameters', () => {
  const [, list = ''] = /Its parameters may be (.*?)\./s.exec(readGuide('several-machines/README.md')) ?? []
  expect(SUPPORTED).toBe(`those that are: ${[...list.matchAll(/`(\w+)`/g)].map(([, name]) => name).join(', ')};`)
})

test('a backup says where the tools of PostgreSQL are described, without the password', async () => {
  const backup = backupDatabase('postgresql://alice:secret@db.example/plants', '/tmp/never-written.db')
  await expect(backup).rejects.toThrow(
    /^the database "plants" at db\.example:5432 is .* see docs\/production\/several-/,
  )
})

import fc from 'fast-check'
import pg from 'pg'
import { describe, expect, test, vi } from 'vitest'
import { runs } from '../../../test/helpers/long-tests.ts'
import { readGuide } from '../../../test/helpers/production/guide.ts'
import { databaseUrl } from '../../src/address.ts'
import { backupDatabase } from '../../src/database.ts'
import { StorageError } from '../../src/index.ts'
import { describeDatabase, readAddress } from '../../src/postgresql/address.ts'

/** A URL of a Unix socket, with a port. */
const SOCKET = 'postgresql://u:p@localhost:6432/d?host=/var/run/postgresql'

describe('readAddress', () => {
  test.each([
    ['postgresql://u:p@db.example:6432/plants', { host: 'db.example', port: 6432, database: 'plants', user: 'u' }],
    ['postgres:///plants', { host: 'localhost', port: 5432 }],
    ['postgresql://[::1]:6432/plants', { host: '::1', port: 6432 }],
    [SOCKET, { host: '/var/run/postgresql', port: 6432, user: 'u' }],
    ['postgresql://u:p@ss:word@h/d', { host: 'h', user: 'u' }],
    ['postgresql://h/d?pgbouncer=true&connection_limit=2', { isPooled: true, connectionLimit: 2 }],
    ['postgresql://h/d?sslmode=verify-full&sslrootcert=system', { config: { ssl: { host: 'h' } } }],
    ['postgresql://h/d?sslmode=require&uselibpqcompat=true', { config: { ssl: { rejectUnauthorized: false } } }],
    ['postgresql://h/d?sslmode=disable', { config: { ssl: false } }],
    ['postgresql://h/d?application_name=shop&schema=public', { config: { application_name: 'shop' } }],
    ['postgresql://h/d?options=-c%20search_path%3Dplants', { config: { options: '-c search_path=plants' } }],
  ])('reads %s', (url, address) => {
    expect(readAddress(url)).toMatchObject(address)
  })

  test.each([
    ['postgresql://u:se/cret@h/d', 'is not a URL'],
    ['postgresql://u:secret@h', 'names no database'],
    ['postgresql://h/d?sslmode=verify-ca', 'has parameters of TLS that cannot be used ('],
    ['postgresql://h/d?sslmode=require&sslrootcert=/none.pem', 'has parameters of TLS that cannot be used (ENOENT'],
    [
      'postgresql://h/d?pgbouncer=yes',
      'has the parameter "pgbouncer" with a value that is not supported: docs/production/',
    ],
    ['postgresql://h/d?connection_limit=1', 'has the parameter "connection_limit" with a value'],
    ['postgresql://h/d?sslmod=require', 'has the parameter "sslmod", which is not supported: docs/production/'],
    ['postgresql://h/d?sslrootcert=system', 'has sslrootcert=system: add sslmode=verify-full'],
    ['postgresql://h/d?sslrootcert=system&sslmode=require', 'has sslrootcert=system: add sslmode=verify-full'],
    ['postgresql://h/d?sslnegotiation=direct', 'has the parameter "sslnegotiation" with a value'],
    ['postgresql://h/d?gssencmode=require', 'has the parameter "gssencmode" with a value'],
    ['postgresql://u:secret@h:1,i:2/d', 'is not a URL'],
  ])('rejects %s', (url, reason) => {
    const read = () => readAddress(url)
    expect(read).toThrow(StorageError)
    expect(read).toThrow(`DATABASE_URL ${reason}`)
    expect(read).toThrow(/; write for example postgresql:\/\/user:password@localhost:5432\/plants$/)
    expect(read).not.toThrow(/secret|cret|100%/)
  })
})

describe('the variables of libpq and the driver', () => {
  const words = (text: string) => text.split(/\s+/)
  /** Says all that a variable may say. */
  const COMPLETE =
    'postgresql://u:p@h:2/d?sslmode=disable&sslrootcert=README.md&sslnegotiation=postgres&options=-cc%3Dd&channel_binding=prefer&target_session_attrs=any'

  test.each(
    words(`host:HOST=db port:PORT=6432 user:USER=ann database:DATABASE=d password:PASSFILE=/none sslmode:SSLMODE=prefer
      sslmode:SSLMODE=no-verify sslrootcert:SSLROOTCERT=system sslcert:SSLCERT=/none sslkey:SSLKEY=/none options:OPTIONS=-ca=b
      channel_binding:CHANNELBINDING=require target_session_attrs:TARGETSESSIONATTRS=standby gssencmode:GSSENCMODE=require
      requiressl:REQUIRESSL=1`),
  )('what the URL lacks stops the startup: %s', (text) => {
    const [name, setting = ''] = text.split(':')
    const variable = setVariable(setting)
    const reason = `does not say what ${variable} does, which is not read: add the ${name}, or unset it`
    expect(() => databaseUrl('postgresql:///')).toThrow(`DATABASE_URL ${reason}; write for example postgresql://`)
    expect(databaseUrl('file:/plants.db')).toMatch(/plants\.db$/)
  })

  test.each(
    words(`SERVICE SERVICEFILE HOSTADDR REQUIREAUTH REQUIREPEER SSL SSLCRL SSLCRLDIR SSLMINPROTOCOLVERSION
      SSLMAXPROTOCOLVERSION BINARY REPLICATION CLIENT_ENCODING`),
  )('PG%s has no parameter', (name) => {
    const variable = setVariable(`${name}=1`)
    const reason = `DATABASE_URL does not say what ${variable} does, which is not read: unset it`
    expect(() => databaseUrl(COMPLETE)).toThrow(reason)
  })

  test.each([
    ...words(`HOST=other PORT=1 USER=other DATABASE=other PASSFILE=/none SSLMODE=require SSLROOTCERT=/none
      SSLNEGOTIATION=direct OPTIONS=-ca=b CHANNELBINDING=require TARGETSESSIONATTRS=standby`).map((each) => [
      each,
      COMPLETE,
    ]),
    ...words(`HOST=localhost PORT=5432 SSLMODE=disable SSLMODE= SERVICE= REQUIRESSL=0 GSSENCMODE=disable CHANNELBINDING=prefer
      TARGETSESSIONATTRS=read-write SSLSNI=1 TZ=Asia/Tokyo CONNECT_TIMEOUT=1 APPNAME=shop`).map((each) => [
      each,
      'postgresql://u@/d',
    ]),
  ])('PG%s changes nothing in %s', (setting = '', url = '') => {
    const without = connectionOf(url)
    setVariable(setting)
    expect(connectionOf(url)).toEqual(without)
  })

  /** Returns what the driver makes of a URL and the environment. */
  function connectionOf(url: string): unknown {
    const client = new pg.Client({ ...readAddress(url).config, connectionTimeoutMillis: 1 })
    return { ...Reflect.get(client, 'connectionParameters') }
  }

  /** Returns the name of the variable. */
  function setVariable(setting: string): string {
    const [name, value] = `PG${setting}`.split(/=(.*)/)
    vi.stubEnv(String(name), value)
    return String(name)
  }
})

describe('the table of the guide', () => {
  const rows = codeTable(readGuide('several-machines/README.md'), 'The URL of a provider')

  test.each(rows)('%s: write %s', (found, write) => {
    const url = /^postgres/.test(found) ? found.replace('...', 'h/d') : `postgresql://h/d?${found}`
    const pasted = found.startsWith('host1') ? `postgresql://u:p@${found}/d` : url
    if (/^(the same|nothing: ignored)/.test(write)) {
      expect(databaseUrl(pasted)).toBe(pasted)
      return
    }
    const name = found.startsWith('host1') ? 'one host' : found.replace(/=.*/, '')
    expect(() => databaseUrl(pasted)).toThrow(StorageError)
    expect(() => databaseUrl(pasted)).toThrow(name)
  })
})

/** Returns the cells of a table, a row for each code of the first cell. */
function codeTable(guide: string, heading: string): [found: string, write: string][] {
  const [, section = ''] = guide.split(`## ${heading}\n`)
  const lines = section.split('\n## ')[0]?.matchAll(/^\| (`.*`) \| (.*) \|$/gm) ?? []
  return [...lines].flatMap(([, first = '', write = '']) =>
    [...first.matchAll(/`(.*?)`/g)].map(([, found = '']): [string, string] => [found, write]),
  )
}

test('for any text only a StorageError is thrown, and neither it nor the description has a part of the password', () => {
  /** Text that occurs in no message and no example. */
  const secret = fc.string({ unit: fc.constantFrom(...'qzQZ79@:/?#%&=[]\\ é🪴'), minLength: 4, maxLength: 12 })
  const PLACES = ['h/d', ':6432/d', '/d', 'h', '[::1]/d', 'h/d?sslmode=require', 'h/d?unknown=1', 'h/a/b', '%']
  const place = fc.oneof({ arbitrary: fc.constantFrom(...PLACES), weight: 3 }, fc.string({ unit: 'grapheme' }))
  fc.assert(
    fc.property(secret, place, fc.boolean(), (password, rest, isEncoded) => {
      const written = isEncoded ? encodeURIComponent(password) : password
      let message: string
      try {
        message = describeDatabase(readAddress(`postgresql://user:${written}@${rest}`))
      } catch (error) {
        expect(error).toBeInstanceOf(StorageError)
        message = (error as Error).message
      }
      if (!PLACES.includes(rest)) return
      for (const part of password.match(/[qzQZ79é🪴]{2,}/gu) ?? []) expect(message).not.toContain(part)
    }),
    { numRuns: runs(5_000) },
  )
})

test('a backup says where the tools of PostgreSQL are described, without the password', async () => {
  const backup = backupDatabase('postgresql://alice:secret@db.example/plants', '/tmp/never-written.db')
  await expect(backup).rejects.toThrow(
    new StorageError(
      `the database "plants" at db.example:5432 is backed up by PostgreSQL's own tools: see docs/production/several-machines/README.md`,
    ),
  )
})

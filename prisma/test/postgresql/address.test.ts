import fc from 'fast-check'
import { describe, expect, test, vi } from 'vitest'
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
    ['postgresql://h/d?sslmode=verify-ca', 'has sslmode=verify-ca: add the sslrootcert'],
    ['postgresql://h/d?sslmode=require&sslrootcert=/none.pem', 'names a file that cannot be read (ENOENT'],
    ['postgresql://h/d?pgbouncer=yes', 'has an unsupported pgbouncer: write pgbouncer=true or pgbouncer=false'],
    ['postgresql://h/d?connection_limit=1', 'has an unsupported connection_limit: write a number from 2 to 1000'],
    ['postgresql://h/d?sslmod=require', 'has the parameter "sslmod", which is not supported: docs/production/'],
    ['postgresql://h/d?sslrootcert=system', 'has sslrootcert=system: add sslmode=verify-full'],
    ['postgresql://h/d?sslrootcert=system&sslmode=require', 'has sslrootcert=system: add sslmode=verify-full'],
    ['postgresql://h/d?sslnegotiation=direct', 'has an unsupported sslnegotiation: write sslnegotiation=postgres'],
    ['postgresql://h/d?gssencmode=require', 'has an unsupported gssencmode: write gssencmode=disable or'],
    ['postgresql://u:secret@h:1,i:2/d', 'is not a URL'],
  ])('rejects %s', (url, reason) => {
    const read = () => readAddress(url)
    expect(read).toThrow(StorageError)
    expect(read).toThrow(`DATABASE_URL ${reason}`)
    expect(read).toThrow(/; write for example postgresql:\/\/user:password@localhost:5432\/plants$/)
    expect(read).not.toThrow(/secret|cret|100%/)
  })
})

describe('the variables of libpq', () => {
  const CHECKED = { ssl: { host: 'h' } }
  test.each<[variables: string, address: object, url?: string]>([
    ['PGSSLMODE=verify-full', { config: CHECKED }],
    ['PGSSLMODE=verify-full PGSSLROOTCERT=system', { config: CHECKED }],
    ['PGSSLMODE=verify-full', { config: CHECKED }, 'postgresql://h/d?sslrootcert=system'],
    ['PGSSLMODE=require\n', { config: { ssl: { rejectUnauthorized: false } } }],
    ['PGSSLMODE=verify-full PGSSLROOTCERT=README.md', { config: { ssl: { ca: expect.stringMatching(/^# /) } } }],
    ['PGSSLMODE=verify-full', { config: { ssl: false } }, 'postgresql://h/d?sslmode=disable'],
    ['PGSSLMODE=verify-full', { config: { ssl: false } }, SOCKET],
    ['PGHOST=other PGPORT=1', { host: 'h', port: 2 }, 'postgresql://h:2/d'],
    ['PGSSLMODE= PGSERVICE= PGREQUIRESSL=0 PGGSSENCMODE=prefer PGSSLNEGOTIATION=postgres', { config: { ssl: false } }],
    ['PGTZ=Asia/Tokyo PGCONNECT_TIMEOUT=1 PGSSLSNI=1 PGSSLCOMPRESSION=1 PGDATA=/d', { config: { options: undefined } }],
    ['PGCHANNELBINDING=require', { config: { enableChannelBinding: true } }],
    ['PGTARGETSESSIONATTRS=read-write PGAPPNAME=shop', { config: { application_name: 'shop' } }],
    ['PGAPPNAME=shop', { config: { application_name: 'a' } }, 'postgresql://h/d?application_name=a'],
    ['PGOPTIONS=-csearch_path=shop,\\ a&b', { config: { options: '-csearch_path=shop,\\ a&b' } }],
    ['PGOPTIONS=-ca=b', { config: { options: '-cc=d' } }, 'postgresql://h/d?options=-cc%3Dd'],
    ['PGDATABASE=plants PGUSER=u PGPORT=6432', { database: 'plants', user: 'u', port: 6432 }, 'postgresql://h'],
    ['PGDATABASE=plants', { database: 'd' }],
  ])('%j counts', (variables, address, url = 'postgresql://h/d') => {
    setVariables(variables)
    expect(readAddress(url)).toMatchObject(address)
  })

  test.each([
    ['PGSSLMODE=foo', 'has an unsupported value: write PGSSLMODE=disable or PGSSLMODE=prefer or'],
    ['PGSSLMODE=verify-ca', 'has sslmode=verify-ca: add the sslrootcert'],
    ['PGSSLROOTCERT=system', 'has sslrootcert=system: add sslmode=verify-full'],
    ['PGSSLROOTCERT=/none.pem', 'names a file that cannot be read (ENOENT'],
    ['PGTARGETSESSIONATTRS=standby', 'has an unsupported value: write PGTARGETSESSIONATTRS=any or'],
    ['PGGSSENCMODE=require', 'has an unsupported value: write PGGSSENCMODE=disable or PGGSSENCMODE=prefer'],
    ['PGSSLNEGOTIATION=direct', 'has an unsupported value: write PGSSLNEGOTIATION=postgres'],
    ['PGPORT=abc', 'has an unsupported value: write a number from 1 to 65535'],
    ['PGREQUIRESSL=1', 'has an unsupported value: write PGREQUIRESSL=0'],
    ...`PGSERVICE PGSERVICEFILE PGHOSTADDR PGREQUIREAUTH PGREQUIREPEER PGSSL PGSSLCRL PGSSLCRLDIR PGSSLMINPROTOCOLVERSION
      PGSSLMAXPROTOCOLVERSION`
      .split(/\s+/)
      .map((name) => [`${name}=1`, 'is not supported: docs/production/']),
  ])('%s is rejected by its name', (variable, reason = '') => {
    setVariables(variable ?? '')
    const read = () => databaseUrl('postgresql://h/d')
    expect(read).toThrow(StorageError)
    expect(read).toThrow(`${variable?.split('=')[0]} ${reason}`)
    expect(databaseUrl('file:/plants.db')).toMatch(/plants\.db$/)
  })

  function setVariables(text: string): void {
    for (const [, name = '', value = ''] of text.matchAll(/(PG\w+)=(.*?)(?=$| PG)/gs)) vi.stubEnv(name, value)
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
    { numRuns: 3_000 },
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

import { describe, expect, test } from 'vitest'
import { StorageError } from '../src/index.ts'
import { databaseUrl, nameDatabase } from '../src/open-database.ts'
import { databaseFile } from '../src/sqlite/address.ts'

const root = '/srv/plant-store'

describe('databaseFile', () => {
  test.each([
    ['file:./data/plant-store.db', '/srv/plant-store/data/plant-store.db'],
    ['file:../elsewhere.db', '/srv/elsewhere.db'],
    ['file:/var/plants.db', '/var/plants.db'],
    ['file:///var/my plants 100%25.db', '/var/my plants 100%25.db'],
    ['file:./C# apps/100% sure?/a=b.db', '/srv/plant-store/C# apps/100% sure?/a=b.db'],
    ['file:a#b?c.db?', '/srv/plant-store/a#b?c.db?'],
    ['file:./:memory:/x.db', '/srv/plant-store/:memory:/x.db'],
  ])('%s is %s', (value, file) => {
    expect(databaseFile(value, root)).toBe(file)
  })

  test.each([
    ['  ', 'is empty'],
    ['postgresql://localhost/plants', 'does not start with "file:"'],
    ['file:./data/', 'does not name a file'],
    ['file:..', 'does not name a file'],
    ['file::memory:?cache=shared', 'names a database in memory'],
    ['file:./a?b.db?key=secret&connection_limit=1', 'remove "?key" and what follows'],
    ['file:./plants\0.db', 'NUL'],
    ['file://server/plants.db', 'names another host'],
  ])('%j is rejected: it %s', (value, reason) => {
    const read = () => databaseFile(value, root)
    expect(read).toThrow(StorageError)
    expect(read).toThrow(/^DATABASE_URL .* write for example file:\.\/data\/plant-store\.db$/s)
    expect(read).toThrow(reason)
  })
})

describe('databaseUrl', () => {
  test('is absolute, in the form that Prisma Studio supports', () => {
    expect(databaseUrl('file:./data/x.db', root)).toBe('file:///srv/plant-store/data/x.db')
  })

  test('has a default, in the repository and not in the current folder', () => {
    expect(databaseUrl()).toBe(new URL('../../data/plant-store.db', import.meta.url).href)
  })

  test.each([root, '/C# apps/100% sure?/a?b=c/:memory:', '/a?b=c#\\d'])(
    'leaves its own result below %s unchanged',
    (folder) => {
      const url = databaseUrl('file:./a b.db', folder)
      expect(databaseFile(url)).toBe(`${folder}/a b.db`)
      expect(databaseUrl(url, '/another/root')).toBe(url)
    },
  )
})

test.each([
  ['file:///srv/plants.db', 'sqlite /srv/plants.db'],
  ['postgresql://anna:secret@10.0.0.20/plants?sslmode=require', 'postgresql database "plants" at 10.0.0.20:5432'],
])('%s is named without user and password', (url, name) => {
  expect(nameDatabase(url)).toBe(name)
})

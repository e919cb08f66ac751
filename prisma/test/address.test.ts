import { expect, test } from 'vitest'
import { databaseFile, databaseUrl, nameDatabase } from '../src/address.ts'
import { StorageError } from '../src/index.ts'

const root = '/srv/plant-store'

test.each([
  ['file:../elsewhere.db', '/srv/elsewhere.db'],
  ['file:/var/plants.db', '/var/plants.db'],
  ['file:///var/my plants 100%25.db', '/var/my plants 100%25.db'],
  ['file:./C# apps/100% sure?/a=b.db', '/srv/plant-store/C# apps/100% sure?/a=b.db'],
  ['file:a#b?c.db?', '/srv/plant-store/a#b?c.db?'],
  ['file:./~/$5/a$b/~x.db', '/srv/plant-store/~/$5/a$b/~x.db'],
  ['file:$ /100%/pl%C3%A4nts/%C3%.db', '/srv/plant-store/$ /100%/pl%C3%A4nts/%C3%.db'],
])('%s is %s', (value, file) => {
  expect(databaseFile(value, root)).toBe(file)
})

test.each([
  ['  ', 'is empty'],
  ['postgresql://localhost/plants', 'does not start with "file:"'],
  ['file:~/x.db', 'has "~", which is not expanded'],
  ['file:$HOME/x.db', 'has "$HOME", which is not expanded'],
  [`file:./plants-$\{NAME}.db`, `has "$\{NAME}", which is not expanded`],
  ['file:./data/', 'does not name a file'],
  ['file::memory:?cache=shared', 'names a database in memory'],
  ['file:./a?b.db?key=secret&connection_limit=1', 'remove "?key" and what follows'],
  ['file://server/plants.db', 'names another host'],
])('%j is rejected: it %s', (value, reason) => {
  const read = () => databaseFile(value, root)
  expect(read).toThrow(StorageError)
  expect(read).toThrow(/^DATABASE_URL .* write for example file:\.\/data\/plant-store\.db$/s)
  expect(read).toThrow(reason)
})

test('the default is in the repository and not in the current folder', () => {
  expect(databaseUrl()).toBe(new URL('../../data/plant-store.db', import.meta.url).href)
})

// Absolute, in the form that Prisma Studio supports.
test.each([root, '/C# apps/100% sure?/a?b=c/:memory:', '/a?b=c#\\d'])('a URL below %s stays what it is', (folder) => {
  const url = databaseUrl('file:./a b.db', folder)
  expect(url).toMatch(/^file:\/\/\//)
  expect(databaseFile(url)).toBe(`${folder}/a b.db`)
  expect(databaseUrl(url, '/another/root')).toBe(url)
})

test.each([
  ['file:./a b /c d.db', 'file:///srv/plant-store/a b /c d.db'],
  ['postgresql://anna@10.0.0.20/plants', 'postgresql://anna@10.0.0.20/plants'],
])('white space at the ends of %s is not part of it', (value, url) => {
  expect(databaseUrl(`\uFEFF ${value}\t\n`, root)).toBe(url)
})

test('PostgreSQL is named without user and password', () => {
  const name = nameDatabase('postgresql://anna:secret@10.0.0.20/plants?sslmode=require')
  expect(name).toBe('postgresql database "plants" at 10.0.0.20:5432')
})

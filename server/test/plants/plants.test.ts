/**
 * What POST /plants stores and GET /plants lists while others write. The conformance suite of the client has single
 * requests, the fuzzer every spelling, id and text, and storage/histories.test.ts several servers on one database.
 */

import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { copyDatabase, newDatabase, runSql } from '../../../test/helpers/database/databases.ts'
import { startTestServer, type TestServer } from '../../../test/helpers/server/start-test-server.ts'
import { createCursors } from '../../src/plants/cursor.ts'
import { HttpError } from '../../src/requests/errors.ts'
import { createRouter, type Handlers, writeLinks } from '../../src/requests/router.ts'

const server = await startTestServer()

let accounts = 0
/** Creates a token of an account that has no plants, and what creates its plants and lists their names. */
async function newAccount() {
  const account = `account ${++accounts}`
  const { token } = await server.createToken({ account })
  const post = (body: string) => server.post(body, { token })
  const list = async () => {
    const plants = (await (await server.call('/plants', { token })).json()) as { name: string }[]
    return plants.map(({ name }) => name)
  }
  return { account, token, list, post }
}

// Others would write 500 as the number of the error. Here every number is of one catalogue: 50000.
test('a failed commit fails the writes in it with a 500 that says no more than its number, and stored plants stay', async () => {
  const { post, list } = await newAccount()
  expect((await post('{"id":1,"name":"kept"}')).status).toBe(200)
  await (await newAccount()).post('{"id":1,"name":"poison"}')
  const index = `CREATE UNIQUE INDEX "hidden" ON "Plant" ("name") WHERE "name" = 'poison'`
  await runSql(server.databaseUrl, index)
  const burst = ['a', 'poison', 'b'].map((name, index) => post(JSON.stringify({ id: 10 + index, name })))
  const responses = await Promise.all(burst)
  // Timing decides whether they share a commit; but responses and the list agree.
  const accepted = ['a', 'b'].filter((_, index) => responses[2 * index]?.status === 200)
  expect(await list()).toEqual(['kept', ...accepted])
  expect(responses[1]?.status).toBe(500)
  expect(responses[1]?.headers.get('x-request-id')).toMatch(/./)
  const body = (await responses[1]?.text()) ?? ''
  expect(JSON.parse(body)).toEqual({ error: 50000, message: expect.any(String) })
  expect(body).not.toMatch(/hidden|poison|sql|index|insert|prisma|\/|\.ts/i)
  await runSql(server.databaseUrl, 'DROP INDEX "hidden"')
  expect((await post('{"id":11,"name":"poison"}')).status).toBe(200)
})

test('an operation responds with no error that its metadata does not name', async () => {
  const failWith = (error: ConstructorParameters<typeof HttpError>[0]) => {
    const createPlant: Handlers['createPlant'] = () => Promise.reject(new HttpError(error))
    const router = createRouter({ createPlant } as Handlers)
    return router.createPlant({ req: { context: { identity: {} }, headers: {} } } as Parameters<
      typeof router.createPlant
    >[0])
  }
  for (const errorName of ['idTaken', 'unavailable'] as const)
    await expect(failWith(errorName)).rejects.toMatchObject({ errorName })
  await expect(failWith('notFound')).rejects.toThrow('Add notFound to the metadata.errors of createPlant')
})

test('an operation whose contract has no 304 responds none, and has no tag', async () => {
  const createPlant: Handlers['createPlant'] = async () => ({ body: { name: 'x' }, unused: {}, version: '1' })
  const router = createRouter({ createPlant } as Handlers)
  const context = { identity: {}, etag: undefined }
  const request = { req: { context, headers: { 'if-none-match': '"1", *' } } } as never
  expect([await router.createPlant(request), context.etag]).toEqual([{ status: 200, body: { name: 'x' } }, undefined])
})

/** Returns the link to the page after the first plant, and its cursor. */
async function linkOf(server: TestServer): Promise<{ link: string; cursor: string }> {
  const link = String((await server.call('/plants?limit=1')).headers.get('link'))
  return { link, cursor: /cursor=([\w-]+)/.exec(link)?.[1] ?? '' }
}

test('the links have every parameter of the page that the operation has, as it arrived', async () => {
  const query = { limit: '2', tag: 'a b>"&=ü', since: '2026-11-01', available: 'yes', unknown: '1' }
  const target = 'https://plants.example.com/plants'
  const names = ['limit', 'cursor', 'tag', 'available', 'since', 'none']
  const links = writeLinks(target, query, names, { endCursor: 'new', hasNextPage: true })
  const [, next = '', end] = /^<([!-~]+)>; rel="next", <([!-~]+)>; rel="end"$/.exec(links) ?? []
  const { origin, pathname, searchParams } = new URL(next)
  expect([end, origin, pathname]).toEqual([next, 'https://plants.example.com', '/plants'])
  const parameters = ['limit=2', 'cursor=new', 'tag=a b>"&=ü', 'available=yes', 'since=2026-11-01']
  expect([...searchParams].map((pair) => pair.join('='))).toEqual(parameters)
})

test('a cursor is the same for a place of an account, has one length, and reveals nothing about other accounts', () => {
  const secret = randomBytes(32)
  const { write } = createCursors(secret)
  const writeAll = () => Array.from({ length: 11 }, (_, index) => write('alice', 3 * index))
  const cursors = writeAll()
  expect(writeAll()).toEqual(cursors)
  expect(createCursors(secret).write('alice', 0)).toBe(cursors[0])
  expect(write('bob', 0)).not.toBe(cursors[0])
  for (const cursor of cursors) expect(cursor).toMatch(/^[\w-]{22}$/)
  // In order of creation, no byte of the cursors is in order, as that of a number would be.
  const bytes = cursors.map((cursor) => Buffer.from(cursor, 'base64url'))
  const isOrdered = (at: number) => bytes.every((buffer, index) => (buffer[at] ?? 0) >= (bytes[index - 1]?.[at] ?? 0))
  expect([...Array(16).keys()].filter(isOrdered)).toEqual([])
  expect(new Set(cursors).size).toBe(cursors.length)
})

test('a cursor of another account, of another database, with one changed letter or any other text is invalid', () => {
  const { write, read } = createCursors(randomBytes(32))
  const invalid = expect.objectContaining({ errorName: 'invalidQuery', message: expect.stringMatching(/^cursor: /) })
  const cursor = write('alice', 7)
  expect(read('alice', cursor)).toBe(7)
  expect(() => read('bob', cursor)).toThrow(invalid)
  expect(() => createCursors(randomBytes(32)).read('alice', cursor)).toThrow(invalid)
  const changed = [...cursor].map(
    (letter, at) => cursor.slice(0, at) + (letter === 'A' ? 'B' : 'A') + cursor.slice(at + 1),
  )
  // Decoders and ciphers accept what is longer, or has a shorter tag.
  const others = ['', 'A'.repeat(22), '\0', '🪴', 'A'.repeat(10_000), `${cursor}A`, `${cursor}\n`, cursor.slice(0, -4)]
  for (const other of [...changed, ...others]) expect(() => read('alice', other)).toThrow(invalid)
})

test('servers of one database accept each other’s cursors, also after a restore, and no others', async () => {
  const databaseUrl = await newDatabase()
  // Both servers create the secret at the same time.
  const publicUrls = ['https://plants.example.com/api', undefined]
  const servers = await Promise.all(publicUrls.map((publicUrl) => startTestServer({ databaseUrl, publicUrl })))
  const [one, other] = servers as [TestServer, TestServer]
  for (const id of [1, 2]) await one.post(`{"id":${id},"name":"${id}"}`)
  const [{ link, cursor }, next] = await Promise.all([linkOf(one), linkOf(other)])
  const target = `<https://plants.example.com/api/plants?limit=1&cursor=${cursor}>`
  expect(link).toBe(`${target}; rel="next", ${target}; rel="end"`)
  const list = async (server: TestServer, cursor: string) => (await server.call(`/plants?cursor=${cursor}`)).json()
  expect(await list(one, 'A'.repeat(22))).toEqual({ error: 40004, message: expect.stringMatching(/^cursor: /) })
  const rest = [{ name: '2' }]
  expect([await list(other, cursor), await list(one, next.cursor)]).toEqual([rest, rest])
  await Promise.all([one.close(), other.close()])
  await using restored = await startTestServer({ databaseUrl: await copyDatabase(databaseUrl) })
  expect(await list(restored, cursor)).toEqual(rest)
})

test('a list or page that has not changed is a 304 with all headers, and a change leaves the pages before it as they are', async () => {
  const { token, post } = await newAccount()
  const get = (path: string, condition?: string, method = 'GET') => {
    const headers = condition === undefined ? {} : { 'If-None-Match': condition, 'Cache-Control': 'no-cache' }
    return server.call(path, { token, method, headers })
  }
  const tagOf = async (path = '/plants') => (await get(path)).headers.get('etag') as string
  const empty = await tagOf()
  expect((await get('/plants', empty)).status).toBe(304)
  for (const id of [1, 2, 3]) await post(`{"id":${id},"name":"plant ${id}"}`)
  expect((await get('/plants', empty)).status).toBe(200)

  const [, rest = ''] = /<([^>]*)>/.exec((await get('/plants?limit=1')).headers.get('link') ?? '') ?? []
  const changing = ['/plants', '/plants?limit=3', '/plants?limit=5', `/plants${rest.replace('limit=1&', '')}`]
  const staying = ['/plants?limit=2', '/plants?limit=2&unknown=,']
  const paths = [...changing, ...staying]
  const namesOf = ['etag', 'link', 'cache-control', 'vary', 'content-type']
  for (const path of paths) {
    const { headers } = await get(path)
    const etag = headers.get('etag') as string
    const expected = namesOf.map((name) => (name === 'content-type' ? null : headers.get(name)))
    expect(expected.slice(2)).toEqual(['private, no-cache', 'Authorization', null])
    for (const condition of ['"x",'.repeat(200) + etag, `"other", ${etag}`, `${etag},"a,b"`, `W/${etag}`, ' * ']) {
      for (const method of ['GET', 'HEAD']) {
        const response = await get(path, condition, method)
        expect([condition, response.status, await response.text()]).toEqual([condition, 304, ''])
        expect(namesOf.map((name) => response.headers.get(name))).toEqual(expected)
      }
    }
    const others = ['"other"', etag.slice(1, -1), '', `"x${etag.slice(1)}`]
    for (const condition of others) expect([condition, (await get(path, condition)).status]).toEqual([condition, 200])
  }
  // An unknown parameter selects nothing.
  expect(new Set(await Promise.all(paths.map(tagOf))).size).toBe(paths.length - 1)

  const before = await Promise.all(paths.map((path) => tagOf(path)))
  const statuses = () => Promise.all(paths.map(async (path, index) => (await get(path, before[index])).status))
  // Of another account.
  await (await newAccount()).post('{"id":1,"name":"other"}')
  expect(await statuses()).toEqual(paths.map(() => 304))
  await post('{"id":4,"name":"plant 4"}')
  expect(await statuses()).toEqual([...changing.map(() => 200), ...staying.map(() => 304)])
  // An error is no list.
  const { status, headers } = await get('/plants?limit=0', '*')
  expect([status, headers.get('cache-control'), headers.get('etag')]).toEqual([400, 'no-store', null])
})

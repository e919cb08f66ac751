/** What GET /plants with a limit lists, its links, and the cursors in them. */
import { randomBytes } from 'node:crypto'
import { expect, onTestFinished, test, vi } from 'vitest'
import { copyDatabase, newDatabase } from '../../../test/helpers/database/databases.ts'
import { startTestServer } from '../../../test/helpers/server/start-test-server.ts'
import { createCursors } from '../../src/plants/cursor.ts'
import { nextPage } from '../../src/plants/plants-router.ts'

const INVALID = { status: 400, body: { error: 40004, message: expect.stringMatching(/^cursor: /) } }

/** Starts a server, on a database that other servers may use, and returns what creates clients of its accounts. */
async function start(databaseUrl?: string) {
  const server = await startTestServer(databaseUrl === undefined ? {} : { databaseUrl })
  onTestFinished(server.close)

  async function account(name: string) {
    const { token } = await server.createToken({ account: name })
    const get = async (query: string) => {
      const response = await server.call(`/plants${query}`, { token })
      const next = /^<([^>]*)>; rel="next"$/.exec(response.headers.get('link') ?? '')?.[1]
      return { status: response.status, body: await response.json(), next }
    }
    return {
      get,
      async create(...ids: number[]) {
        for (const id of ids) await server.post(JSON.stringify({ id, name: `${id}` }), { token })
      },
      /** Returns the cursor of the page after the first `limit` plants. */
      cursorAfter: async (limit: number) =>
        new URLSearchParams((await get(`?limit=${limit}`)).next).get('cursor') ?? '',
      async list(cursor: string) {
        const { status, body } = await get(`?cursor=${encodeURIComponent(cursor)}`)
        return { status, body }
      },
    }
  }
  return { ...server, account }
}

const named = (...names: (string | number)[]) => names.map((name) => ({ name: `${name}` }))

test('the pages together are the list, also while plants are added; the last one has no link, even if it is full', async () => {
  const alice = await (await start()).account('alice')
  await alice.create(...Array(25).keys())
  const pages: unknown[][] = []
  for (let query: string | undefined = '?limit=10'; query; ) {
    const { body, next } = await alice.get(query)
    pages.push(body as unknown[])
    query = next
    await alice.create(100 + pages.length)
  }
  expect(pages.map(({ length }) => length)).toEqual([10, 10, 7])
  expect(pages.flat()).toEqual(named(...Array(25).keys(), 101, 102))
  expect((await alice.get('?limit=27')).next).toMatch(/^\?limit=27&cursor=[\w-]+$/)
  for (const query of ['?limit=28', '?limit=1000', '']) expect((await alice.get(query)).next).toBeUndefined()
  expect(await alice.list(await alice.cursorAfter(26))).toEqual({ status: 200, body: named(102, 103) })
})

test('the link has every parameter of the page, and is absolute if PUBLIC_URL is set', async () => {
  const query = { limit: 2, cursor: 'new', tag: ['a b', '>"&=ü'], available: true, since: undefined, none: [] }
  const [, target = ''] = /^<([!-~]+)>; rel="next"$/.exec(nextPage('https://plants.example.com/plants', query)) ?? []
  const { origin, pathname, searchParams } = new URL(target)
  expect([origin, pathname]).toEqual(['https://plants.example.com', '/plants'])
  const parameters = ['limit=2', 'cursor=new', 'tag=a b', 'tag=>"&=ü', 'available=true']
  expect([...searchParams].map((pair) => pair.join('='))).toEqual(parameters)

  await using server = await startTestServer({ publicUrl: 'https://plants.example.com/api' })
  for (const id of [1, 2]) await server.post(`{"id":${id},"name":"Ficus"}`)
  expect((await server.call('/plants?limit=1')).headers.get('link')).toMatch(
    /^<https:\/\/plants\.example\.com\/api\/plants\?limit=1&cursor=[\w-]+>; rel="next"$/,
  )
})

const cursorsOf = (secret = randomBytes(32)) => createCursors(async () => secret)

test('cursors have one length and reveal nothing about other accounts', async () => {
  const { write } = cursorsOf()
  const cursors = await Promise.all(Array.from({ length: 11 }, (_, index) => write('alice', 1 + 3 * index)))
  for (const cursor of cursors) expect(cursor).toMatch(/^[\w-]{48}$/)
  // In order of creation, no byte of the cursors is in order, as that of a number would be.
  const bytes = cursors.map((cursor) => Buffer.from(cursor, 'base64url'))
  const isOrdered = (at: number) => bytes.every((buffer, index) => (buffer[at] ?? 0) >= (bytes[index - 1]?.[at] ?? 0))
  expect([...Array(36).keys()].filter(isOrdered)).toEqual([])
  expect(new Set(cursors).size).toBe(cursors.length)
})

test('a cursor of another account, of another database, with one changed letter or any other text is invalid', async () => {
  const { write, read } = cursorsOf()
  const invalid = { reason: 'invalidQuery', message: INVALID.body.message }
  const cursor = await write('alice', 7)
  expect(await read('alice', cursor)).toBe(7)
  await expect(read('bob', cursor)).rejects.toMatchObject(invalid)
  await expect(cursorsOf().read('alice', cursor)).rejects.toMatchObject(invalid)
  const changed = [...cursor].map(
    (letter, at) => cursor.slice(0, at) + (letter === 'A' ? 'B' : 'A') + cursor.slice(at + 1),
  )
  // Decoders and ciphers accept what is longer, or has a shorter tag.
  const random = Array.from({ length: 100 }, () => randomBytes(36).toString('base64url'))
  const others = ['', 'MQ', 'A'.repeat(48), '\0', '🪴', 'A'.repeat(10_000), `${cursor}A`, `${cursor}\n`]
  for (const other of [...changed, ...random, ...others, cursor.slice(0, -1), cursor.slice(0, -4)]) {
    await expect(read('alice', other)).rejects.toMatchObject(invalid)
  }
})

test('the secret of cursors is read once, and again if it could not be read', async () => {
  const readSecret = vi.fn(async () => randomBytes(32)).mockRejectedValueOnce(new Error('locked'))
  const { write, read } = createCursors(readSecret)
  await expect(write('alice', 7)).rejects.toThrow('locked')
  expect(await read('alice', await write('alice', 7))).toBe(7)
  expect(readSecret).toHaveBeenCalledTimes(2)
})

test('an invalid cursor gets a 400, before and after the first use of the secret', async () => {
  const alice = await (await start()).account('alice')
  for (const ids of [[], [1, 2]]) {
    await alice.create(...ids)
    if (ids.length > 0) expect(await alice.cursorAfter(1)).not.toBe('')
    for (const text of ['MQ', 'A'.repeat(48)]) expect(await alice.list(text)).toEqual(INVALID)
  }
})

test('servers of one database accept each other’s cursors, also after a restore', async () => {
  const url = await newDatabase()
  const [one, other] = [await start(url), await start(url)]
  const [alice, elsewhere] = [await one.account('alice'), await other.account('alice')]
  await alice.create(1, 2)
  // Both servers create the secret at the same time.
  const [cursor, cursorOfOther] = await Promise.all([alice.cursorAfter(1), elsewhere.cursorAfter(1)])
  const rest = { status: 200, body: named(2) }
  expect([await elsewhere.list(cursor), await alice.list(cursorOfOther)]).toEqual([rest, rest])
  await Promise.all([one.close(), other.close()])
  const restored = await start(await copyDatabase(url))
  expect(await (await restored.account('alice')).list(cursor)).toEqual(rest)
})

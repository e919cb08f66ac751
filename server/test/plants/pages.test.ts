/** The links of pages, and the cursors in them. The fuzzer and the conformance suite have what pages list, and which have a link. */
import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { copyDatabase, engine, newDatabase, openConnection } from '../../../test/helpers/database/databases.ts'
import { startTestServer } from '../../../test/helpers/server/start-test-server.ts'
import { createCursors } from '../../src/plants/cursor.ts'
import { nextPage } from '../../src/plants/plants-router.ts'

/** Starts a server on a database that others may use, and returns what reads and creates plants of "alice". */
async function start(databaseUrl: string, publicUrl?: string) {
  const server = await startTestServer({ databaseUrl, publicUrl })
  const { token } = await server.createToken()
  return {
    close: server.close,
    async create(...ids: number[]) {
      for (const id of ids) await server.post(JSON.stringify({ id, name: `${id}` }), { token })
    },
    async list(cursor: string) {
      const response = await server.call(`/plants?cursor=${encodeURIComponent(cursor)}`, { token })
      return { status: response.status, body: await response.json() }
    },
    /** Returns the link to the page after the first plant. */
    link: async () => String((await server.call('/plants?limit=1', { token })).headers.get('link')),
  }
}

test('the link has every parameter of the page', async () => {
  const query = { limit: 2, cursor: 'new', tag: ['a b', '>"&=ü'], available: true, since: undefined, none: [] }
  const [, target = ''] = /^<([!-~]+)>; rel="next"$/.exec(nextPage('https://plants.example.com/plants', query)) ?? []
  const { origin, pathname, searchParams } = new URL(target)
  expect([origin, pathname]).toEqual(['https://plants.example.com', '/plants'])
  const parameters = ['limit=2', 'cursor=new', 'tag=a b', 'tag=>"&=ü', 'available=true']
  expect([...searchParams].map((pair) => pair.join('='))).toEqual(parameters)
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
  const invalid = { reason: 'invalidQuery', message: expect.stringMatching(/^cursor: /) }
  const cursor = await write('alice', 7)
  expect(await read('alice', cursor)).toBe(7)
  await expect(read('bob', cursor)).rejects.toMatchObject(invalid)
  await expect(cursorsOf().read('alice', cursor)).rejects.toMatchObject(invalid)
  const changed = [...cursor].map(
    (letter, at) => cursor.slice(0, at) + (letter === 'A' ? 'B' : 'A') + cursor.slice(at + 1),
  )
  // Decoders and ciphers accept what is longer, or has a shorter tag.
  const others = ['', 'A'.repeat(48), '\0', '🪴', 'A'.repeat(10_000), `${cursor}A`, `${cursor}\n`, cursor.slice(0, -4)]
  for (const other of [...changed, ...others]) {
    await expect(read('alice', other)).rejects.toMatchObject(invalid)
  }
})

test.skipIf(engine === 'sqlite')(
  'a server starts while secrets cannot be stored, and has pages once they can',
  async () => {
    const url = await newDatabase()
    const lock = await openConnection(url)
    await lock.run('BEGIN; LOCK TABLE "Secret" IN EXCLUSIVE MODE')
    const server = await start(url)
    await server.create(1, 2)
    await lock.run('ROLLBACK')
    await lock.close()
    await expect.poll(server.link).toMatch(/rel="next"/)
    await server.close()
  },
)

test('servers of one database accept each other’s cursors, also after a restore, and no others', async () => {
  const url = await newDatabase()
  // Both servers create the secret at the same time.
  const [one, other] = await Promise.all([start(url, 'https://plants.example.com/api'), start(url)])
  await one.create(1, 2)
  const [link, linkOfOther] = await Promise.all([one.link(), other.link()])
  const body = { error: 40004, message: expect.stringMatching(/^cursor: /) }
  expect(await one.list('A'.repeat(48))).toEqual({ status: 400, body })
  const [, cursor = ''] =
    /^<https:\/\/plants\.example\.com\/api\/plants\?limit=1&cursor=([\w-]+)>; rel="next"$/.exec(link) ?? []
  const [, cursorOfOther = ''] = /cursor=([\w-]+)/.exec(linkOfOther) ?? []
  const rest = { status: 200, body: [{ name: '2' }] }
  expect([await other.list(cursor), await one.list(cursorOfOther)]).toEqual([rest, rest])
  await Promise.all([one.close(), other.close()])
  const restored = await start(await copyDatabase(url))
  expect(await restored.list(cursor)).toEqual(rest)
})

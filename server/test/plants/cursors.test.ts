import fc from 'fast-check'
import { expect, onTestFinished, test } from 'vitest'
import { copyDatabase, newDatabase } from '../../../test/helpers/database/databases.ts'
import { startServer } from '../../src/index.ts'

const INVALID = { error: 40004, message: expect.stringMatching(/^cursor: /) }

/** Starts a server on a database that other servers may use. */
async function start(url: string) {
  // A busy machine must not shed load.
  const server = await startServer({ port: 0, databaseUrl: url, shutdownDelay: 0 })
  let closed: Promise<void> | undefined
  const close = () => {
    closed ??= server.close()
    return closed
  }
  onTestFinished(close)
  const call = (query: string, token: string, options: RequestInit = {}) =>
    fetch(`${server.url}/plants${query}`, {
      ...options,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    })
  return {
    close,
    createToken: async (account: string) => (await server.tokens.create({ account })).token,
    create: async (token: string, id: number) => {
      const response = await call('', token, { method: 'POST', body: JSON.stringify({ id, name: `plant ${id}` }) })
      expect(response.status).toBe(200)
    },
    /** Returns the cursor of the page after the first `limit` plants. */
    cursorAfter: async (token: string, limit: number) => {
      const link = (await call(`?limit=${limit}`, token)).headers.get('link')
      return /[?&]cursor=([^&>]*)>/.exec(link ?? '')?.[1] ?? ''
    },
    list: async (token: string, cursor: string) => {
      const response = await call(`?cursor=${encodeURIComponent(cursor)}`, token)
      return { status: response.status, body: await response.json() }
    },
  }
}

test('cursors have one length and reveal nothing about other accounts', async () => {
  const server = await start(await newDatabase())
  const [token, other] = [await server.createToken('alice'), await server.createToken('bob')]
  const cursors: string[] = []
  for (let id = 1; id <= 12; id++) {
    await server.create(token, id)
    if (id % 3 === 0) await server.create(other, id)
  }
  for (let limit = 1; limit < 12; limit++) cursors.push(await server.cursorAfter(token, limit))
  for (const cursor of cursors) expect(cursor).toMatch(/^[\w-]{48}$/)

  // In order of creation, no byte of the cursors is in order, as that of a number would be.
  const bytes = cursors.map((cursor) => Buffer.from(cursor, 'base64url'))
  const isOrdered = (at: number) => bytes.every((buffer, index) => (buffer[at] ?? 0) >= (bytes[index - 1]?.[at] ?? 0))
  expect(Array.from({ length: 36 }, (_, at) => at).filter(isOrdered)).toEqual([])
  expect(new Set(cursors).size).toBe(cursors.length)
})

test('a cursor of another account, of another database or with one changed letter gets a 400', async () => {
  const [server, elsewhere] = [await start(await newDatabase()), await start(await newDatabase())]
  const token = await server.createToken('alice')
  const bob = await server.createToken('bob')
  const tokenElsewhere = await elsewhere.createToken('alice')
  for (const id of [1, 2, 3]) {
    await server.create(token, id)
    await server.create(bob, id)
    await elsewhere.create(tokenElsewhere, id)
  }
  const cursor = await server.cursorAfter(token, 1)
  expect(await server.list(token, cursor)).toEqual({ status: 200, body: [{ name: 'plant 2' }, { name: 'plant 3' }] })
  expect(await server.list(bob, cursor)).toEqual({ status: 400, body: INVALID })
  expect(await elsewhere.list(tokenElsewhere, cursor)).toEqual({ status: 400, body: INVALID })
  for (let at = 0; at < cursor.length; at++) {
    const changed = cursor.slice(0, at) + (cursor[at] === 'A' ? 'B' : 'A') + cursor.slice(at + 1)
    expect(await server.list(token, changed)).toEqual({ status: 400, body: INVALID })
  }
})

test('any other text gets a 400, before and after the first use of the secret', async () => {
  const server = await start(await newDatabase())
  const token = await server.createToken('alice')
  const text = fc.oneof(
    fc.string({ unit: 'binary' }).filter((value) => value.isWellFormed()),
    fc.base64String({ minLength: 48, maxLength: 48 }),
    fc.string({ unit: fc.constantFrom(...'AZaz09-_'), minLength: 48, maxLength: 48 }),
    fc.constantFrom('', 'MQ', '1', 'A'.repeat(47), 'A'.repeat(49), 'A'.repeat(10_000), `${'A'.repeat(48)}\n`),
  )
  const check = fc.asyncProperty(text, async (cursor) => {
    expect(await server.list(token, cursor)).toEqual({ status: 400, body: INVALID })
  })
  await fc.assert(check, { numRuns: 100 })
  for (const id of [1, 2]) await server.create(token, id)
  expect(await server.cursorAfter(token, 1)).not.toBe('')
  await fc.assert(check, { numRuns: 100 })
})

test('servers of one database accept each other’s cursors, also after a restart and a restore', async () => {
  const url = await newDatabase()
  const [one, other] = await Promise.all([start(url), start(url)])
  const token = await one.createToken('alice')
  for (const id of [1, 2]) await one.create(token, id)
  // Both servers create the secret at the same time.
  const [cursor, cursorOfOther] = await Promise.all([one.cursorAfter(token, 1), other.cursorAfter(token, 1)])
  const rest = { status: 200, body: [{ name: 'plant 2' }] }
  expect([await other.list(token, cursor), await one.list(token, cursorOfOther)]).toEqual([rest, rest])

  await Promise.all([one.close(), other.close()])
  const restarted = await start(url)
  expect(await restarted.list(token, cursor)).toEqual(rest)

  await restarted.close()
  expect(await (await start(await copyDatabase(url))).list(token, cursor)).toEqual(rest)
})

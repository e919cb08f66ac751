import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { fileURLToPath } from 'node:url'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { runSql } from '../../../test/helpers/database/sqlite.ts'
import { startTestServer, type TestServer } from '../../../test/helpers/server/start-test-server.ts'

let server: TestServer
beforeAll(async () => {
  server = await startTestServer()
})
afterAll(() => server.close())

let accounts = 0

/** A token of an account that has no plants yet. */
async function newAccount(): Promise<string> {
  accounts++
  return (await server.createToken({ account: `account ${accounts}` })).token
}

async function listOf(token: string): Promise<unknown> {
  return (await server.call('/plants', { token })).json()
}

describe('creating', () => {
  test('a valid NewPlant answers 200 with the Plant, without its id', async () => {
    const token = await newAccount()
    const response = await server.post('{"id":1,"name":"Monstera","tag":"aroid"}', { token })
    expect(response.status).toBe(200)
    expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8')
    expect(await response.text()).toBe('{"name":"Monstera","tag":"aroid"}')
  })

  test('a plant without a tag has no key tag, in the answer and in the list', async () => {
    const token = await newAccount()
    expect(await (await server.post('{"id":1,"name":"Ficus"}', { token })).text()).toBe('{"name":"Ficus"}')
    expect(await (await server.call('/plants', { token })).text()).toBe('[{"name":"Ficus"}]')
  })

  test('an empty tag is a tag', async () => {
    const token = await newAccount()
    await server.post('{"id":1,"name":"","tag":""}', { token })
    expect(await listOf(token)).toEqual([{ name: '', tag: '' }])
  })

  test('unknown fields are ignored', async () => {
    const token = await newAccount()
    const response = await server.post('{"id":1,"name":"Ficus","seq":99,"account":"x","__proto__":{"tag":"y"}}', {
      token,
    })
    expect(await response.json()).toEqual({ name: 'Ficus' })
    expect(await listOf(token)).toEqual([{ name: 'Ficus' }])
  })

  test('the same id with the same content again answers 200 and adds nothing', async () => {
    const token = await newAccount()
    for (const id of ['100', '1e2', '100.0', '1000e-1']) {
      const response = await server.post(`{"id":${id},"name":"Ficus","tag":"t"}`, { token })
      expect([response.status, await response.json()]).toEqual([200, { name: 'Ficus', tag: 't' }])
    }
    expect(await listOf(token)).toEqual([{ name: 'Ficus', tag: 't' }])
  })

  test.each(['{"id":1,"name":"Other","tag":"t"}', '{"id":1,"name":"Ficus"}', '{"id":1,"name":"Ficus","tag":""}'])(
    'the same id with other content (%s) answers 400 (40003) and changes nothing',
    async (other) => {
      const token = await newAccount()
      await server.post('{"id":1,"name":"Ficus","tag":"t"}', { token })
      const response = await server.post(other, { token })
      expect(response.status).toBe(400)
      expect(await response.json()).toEqual({ error: 40003, message: expect.stringContaining('id:') })
      expect(await listOf(token)).toEqual([{ name: 'Ficus', tag: 't' }])
    },
  )

  test('ids 9007199254740992 and 9007199254740993 are two plants, in each account', async () => {
    for (const token of [await newAccount(), await newAccount()]) {
      await server.post('{"id":9007199254740992,"name":"even"}', { token })
      await server.post('{"id":9007199254740993,"name":"odd"}', { token })
      expect(await listOf(token)).toEqual([{ name: 'even' }, { name: 'odd' }])
      expect((await server.post('{"id":9007199254740993,"name":"even"}', { token })).status).toBe(400)
    }
  })

  test('fifty identical requests at once store one plant, fifty different ones with one id store one and refuse the rest', async () => {
    const token = await newAccount()
    const same = await Promise.all(Array.from({ length: 50 }, () => server.post('{"id":1,"name":"same"}', { token })))
    expect(new Set(same.map(({ status }) => status))).toEqual(new Set([200]))
    const names = Array.from({ length: 50 }, (_, index) => `name ${index}`)
    const different = await Promise.all(names.map((name) => server.post(JSON.stringify({ id: 2, name }), { token })))
    const kept = names.filter((_, index) => different[index]?.status === 200)
    expect(kept).toHaveLength(1)
    expect(await listOf(token)).toEqual([{ name: 'same' }, { name: kept[0] }])
  })

  test('good, repeated, conflicting and bad requests in one burst each get their own answer', async () => {
    const token = await newAccount()
    await server.post('{"id":1,"name":"stored"}', { token })
    const burst: [body: string, status: number][] = Array.from({ length: 20 }, (_, round): [string, number][] => [
      [`{"id":${100 + round},"name":"good ${round}"}`, 200],
      ['{"id":1,"name":"stored"}', 200],
      ['{"id":1,"name":"conflicting"}', 400],
      ['{"id":"1","name":"bad"}', 400],
    ]).flat()
    const statuses = await Promise.all(burst.map(async ([body]) => (await server.post(body, { token })).status))
    expect(statuses).toEqual(burst.map(([, status]) => status))
    const names = ((await listOf(token)) as { name: string }[]).map(({ name }) => name)
    expect(names.sort()).toEqual(['stored', ...Array.from({ length: 20 }, (_, round) => `good ${round}`)].sort())
  })

  test('media types are case-insensitive and may name UTF-8; a byte order mark is skipped', async () => {
    const token = await newAccount()
    const types = ['APPLICATION/JSON', 'application/json ; charset=utf-8', 'application/json;charset="UTF-8"']
    for (const [index, type] of types.entries()) {
      const response = await server.post(`\ufeff{"id":${index},"name":"x"}`, {
        token,
        headers: { 'content-type': type },
      })
      expect(response.status).toBe(200)
    }
  })
})

describe('from the wire to the list and back', () => {
  test('every int64 is an id of its own: each plant is found again by it', async () => {
    const token = await newAccount()
    const seen = new Map<bigint, string>()
    const edge = fc.constantFrom(0n, 2n ** 53n, -(2n ** 53n), 2n ** 63n - 1n, -(2n ** 63n))
    const near = fc.tuple(edge, fc.bigInt({ min: -3n, max: 3n })).map(([base, distance]) => base + distance)
    const int64 = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })
    await fc.assert(
      fc.asyncProperty(fc.oneof(near, int64), async (id) => {
        const name = `plant ${id}`
        const inRange = id >= -(2n ** 63n) && id <= 2n ** 63n - 1n
        expect((await server.post(`{"id":${id},"name":"${name}"}`, { token })).status).toBe(inRange ? 200 : 400)
        if (!inRange) return
        seen.set(id, name)
        expect((await server.post(`{"id":${id},"name":"other"}`, { token })).status).toBe(400)
      }),
      { numRuns: 150 },
    )
    expect(await listOf(token)).toEqual([...seen.values()].map((name) => ({ name })))
  })

  test('any Unicode text is listed code point for code point as it was sent', async () => {
    const token = await newAccount()
    const text = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 50 }),
      fc.string({ unit: 'grapheme', maxLength: 50 }),
      fc.constantFrom(
        '\u0001\u001f\u007f\u0085',
        '\u2028\u2029\ufeff\ufffe\uffff',
        '"\\/\b\f\n\r\t',
        '\u{10ffff}',
        'é',
        'e\u0301',
        '</script>',
        "'; DROP TABLE Plant; --",
      ),
    )
    const sent: { name: string; tag: string }[] = []
    await fc.assert(
      fc.asyncProperty(text, text, async (name, tag) => {
        fc.pre(!name.includes('\0') && !tag.includes('\0'))
        const response = await server.post(JSON.stringify({ id: sent.length, name, tag }), { token })
        expect(await response.json()).toEqual({ name, tag })
        sent.push({ name, tag })
      }),
      { numRuns: 150 },
    )
    expect(await listOf(token)).toEqual(sent)
  })
})

describe('listing', () => {
  test('an account without plants has an empty list', async () => {
    expect(await listOf(await newAccount())).toEqual([])
  })

  test('the list is in order of creation, whatever the ids', async () => {
    const token = await newAccount()
    for (const id of [5, -1, 9, 0, 3]) await server.post(`{"id":${id},"name":"${id}"}`, { token })
    expect(await listOf(token)).toEqual(['5', '-1', '9', '0', '3'].map((name) => ({ name })))
  })

  test('an account sees its own plants and no others, and all its tokens see the same', async () => {
    const [one, other] = [await newAccount(), await newAccount()]
    await server.post('{"id":1,"name":"of one"}', { token: one })
    await server.post('{"id":1,"name":"of the other"}', { token: other })
    expect(await listOf(one)).toEqual([{ name: 'of one' }])
    expect(await listOf(other)).toEqual([{ name: 'of the other' }])
    const second = await server.createToken({ account: `account ${accounts}` })
    expect(await listOf(second.token)).toEqual([{ name: 'of the other' }])
  })

  test('HEAD answers the headers of GET and no body', async () => {
    const token = await newAccount()
    await server.post('{"id":1,"name":"Ficus"}', { token })
    const [head, get] = [
      await server.call('/plants', { token, method: 'HEAD' }),
      await server.call('/plants', { token }),
    ]
    expect([head.status, await head.text()]).toEqual([200, ''])
    for (const name of ['content-type', 'content-length', 'cache-control']) {
      expect(head.headers.get(name)).toBe(get.headers.get(name))
    }
    expect((await server.call('/plants', { token: null, method: 'HEAD' })).status).toBe(401)
  })
})

describe('pages', () => {
  function nextOf(response: Response): string | undefined {
    const [, reference] = /^<([^>]*)>; rel="next"$/.exec(response.headers.get('link') ?? '') ?? []
    return reference === undefined ? undefined : new URL(reference, response.url).search
  }

  test('following the links gives the whole list once, also while plants are added', async () => {
    const token = await newAccount()
    const names = Array.from({ length: 25 }, (_, index) => `plant ${index}`)
    for (const [id, name] of names.entries()) await server.post(JSON.stringify({ id, name }), { token })
    const pages: unknown[][] = []
    for (let query: string | undefined = '?limit=10'; query; ) {
      const response = await server.call(`/plants${query}`, { token })
      pages.push((await response.json()) as unknown[])
      query = nextOf(response)
      await server.post(JSON.stringify({ id: 100 + pages.length, name: `late ${pages.length}` }), { token })
    }
    expect(pages.map(({ length }) => length)).toEqual([10, 10, 7])
    expect(pages.flat()).toEqual([...names, 'late 1', 'late 2'].map((name) => ({ name })))
  })

  test('a page that holds the rest has no link, also when it is exactly full', async () => {
    const token = await newAccount()
    for (const id of [1, 2]) await server.post(`{"id":${id},"name":"Ficus"}`, { token })
    expect(nextOf(await server.call('/plants?limit=1', { token }))).toMatch(/^\?limit=1&cursor=[\w-]+$/)
    expect(nextOf(await server.call('/plants?limit=2', { token }))).toBeUndefined()
    expect(nextOf(await server.call('/plants?limit=1000', { token }))).toBeUndefined()
    expect(nextOf(await server.call('/plants', { token }))).toBeUndefined()
  })

  test('a cursor of another account responds 400', async () => {
    const [one, other] = [await newAccount(), await newAccount()]
    for (const id of [1, 2]) await server.post(`{"id":${id},"name":"of one"}`, { token: one })
    const cursor = nextOf(await server.call('/plants?limit=1', { token: one }))
    const response = await server.call(`/plants${cursor}`, { token: other })
    expect(response.status).toBe(400)
    expect(await response.json()).toEqual({
      error: 40004,
      message: 'cursor: must be taken from the Link header of an earlier page',
    })
  })

  test('a cursor without a limit gives the rest of the list', async () => {
    const token = await newAccount()
    for (const id of [1, 2, 3]) await server.post(`{"id":${id},"name":"${id}"}`, { token })
    const cursor = nextOf(await server.call('/plants?limit=1', { token }))?.replace('limit=1&', '')
    expect(await (await server.call(`/plants${cursor}`, { token })).json()).toEqual([{ name: '2' }, { name: '3' }])
  })

  test('with a public URL the link is absolute', async () => {
    await using behindProxy = await startTestServer({ publicUrl: 'https://plants.example.com/api' })
    for (const id of [1, 2]) await behindProxy.post(`{"id":${id},"name":"Ficus"}`)
    expect((await behindProxy.call('/plants?limit=1')).headers.get('link')).toMatch(
      /^<https:\/\/plants\.example\.com\/api\/plants\?limit=1&cursor=[\w-]+>; rel="next"$/,
    )
  })
})

describe('long lists', () => {
  test('a list of many pieces is whole, in order and chunked', async () => {
    const token = await newAccount()
    const plants = Array.from({ length: 80 }, (_, id) => ({ name: `${id} ${'🌿'.repeat(10_000)}`, tag: String(id) }))
    for (const [id, plant] of plants.entries()) await server.post(JSON.stringify({ id, ...plant }), { token })
    const response = await server.call('/plants', { token })
    expect(response.headers.get('transfer-encoding')).toBe('chunked')
    expect(await response.json()).toEqual(plants)
    expect(await (await server.call('/plants?limit=79', { token })).json()).toEqual(plants.slice(0, 79))
  })

  test('a failure midway breaks the connection, and the server reads no more than the caller takes', async () => {
    await using breaking = await startTestServer()
    for (let id = 0; id < 40; id++) await breaking.post(JSON.stringify({ id, name: 'x'.repeat(900_000) }))
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      const headers = { authorization: `Bearer ${breaking.token}` }
      request(`${breaking.url}/plants`, { headers }, resolve).on('error', reject).end()
    })
    await once(response, 'readable')
    // The caller has taken next to nothing: most of the list is still in the table that goes away now.
    runSql(fileURLToPath(breaking.databaseUrl), 'ALTER TABLE "Plant" RENAME TO "Gone"')
    const received: Buffer[] = []
    await expect(async () => {
      for await (const chunk of response) received.push(chunk)
    }).rejects.toThrow('aborted')
    expect(Buffer.concat(received).at(-1)).not.toBe(']'.charCodeAt(0))
  })

  test('a caller that goes away in the middle disturbs nobody', async () => {
    const token = await newAccount()
    for (let id = 0; id < 8; id++) await server.post(JSON.stringify({ id, name: 'x'.repeat(900_000) }), { token })
    await new Promise<void>((resolve, reject) => {
      request(`${server.url}/plants`, { headers: { authorization: `Bearer ${token}` } }, (response) => {
        response.once('data', () => response.destroy()).on('close', resolve)
      })
        .on('error', reject)
        .end()
    })
    expect(((await listOf(token)) as unknown[]).length).toBe(8)
  })
})

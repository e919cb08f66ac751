/** Paging: a page is fetched only when the loop needs it. */
import { describe, expect, test } from 'vitest'
import {
  type Attempt,
  createPlantStoreClient,
  type FetchResponse,
  MalformedResponseError,
  UsageError,
} from '../../src/index.ts'
import { createFakePlantStore } from '../../src/testing/index.ts'
import { failureOf } from '../helpers/failure-of.ts'
import { sendJson, startTinyServer } from '../helpers/tiny-server.ts'

function storeWith(count: number) {
  const store = createFakePlantStore()
  store.add(Array.from({ length: count }, (_, id) => ({ id, name: `plant ${id}` })))
  const listed = () => store.requests.map(({ url }) => new URL(url).search)
  return { store, client: createPlantStoreClient(store), listed }
}

/** Returns the names of plants, and adds them to those before, also if it fails. */
async function namesOf(plants: AsyncIterable<{ name: string }>, names: string[] = [], afterEach = () => {}) {
  for await (const { name } of plants) {
    names.push(name)
    afterEach()
  }
  return names
}

describe('iterate', () => {
  test('requests pages of 100 by default, with the options of the call', async () => {
    const { store, client, listed } = storeWith(101)
    const plants = client.iterate.getPlants({ limit: undefined }, { headers: { 'x-job': '7' } })
    expect(await namesOf(plants)).toHaveLength(101)
    expect(listed()).toEqual(['?limit=100', expect.stringMatching(/^\?limit=100&cursor=./)])
    expect(store.requests.map(({ headers }) => headers['x-job'])).toEqual(['7', '7'])
  })

  test('fetches a page when the loop reaches it, retries one that fails, and starts again in a second loop', async () => {
    const { store, client, listed } = storeWith(5)
    const plants = client.iterate.getPlants({ limit: 2 })
    const requests: number[] = [listed().length]
    const names = await namesOf(plants, [], () => {
      if (requests.push(listed().length) === 3) store.failNext(new TypeError('terminated'), 2)
    })
    expect(requests).toEqual([0, 1, 1, 4, 4, 5])
    expect(await namesOf(plants)).toEqual(names)
    await failureOf(namesOf(client.iterate.getPlants('limit=5' as never)), UsageError)
    // A getter of a class works on the object itself only.
    const input = new (class { #limit = 5; get limit() { return this.#limit } })() // biome-ignore format: one line
    expect(await namesOf(client.iterate.getPlants(input))).toEqual(names)
  })

  test('goes on after the last page that was consumed, now or later', async () => {
    const { client } = storeWith(5)
    const plants = client.iterate.getPlants({ limit: 2 })
    expect(plants.endCursor).toBeUndefined()
    const cursors: unknown[] = []
    for (const count of [2, 3, 5]) {
      let left = count
      await namesOf(plants, [], () => --left || expect.fail()).catch(() => cursors.push(plants.endCursor))
    }
    expect(cursors).toEqual([undefined, '0:2', '0:4'])
    expect(await namesOf(client.iterate.getPlants({ cursor: plants.endCursor }))).toEqual(['plant 4'])
  })
})

describe('the link to the next page', () => {
  /** Returns the pages that a client gets, by the links of the first one and of that after each cursor. */
  async function follow(linkOf: (cursor: string | undefined) => string) {
    await using server = await startTinyServer((response, { url }) =>
      sendJson(response, 200, [{ name: url }], { link: linkOf(/cursor=([^&]*)/.exec(url)?.[1]) }),
    )
    const { iterate, raw } = server.createClient()
    const names: string[] = []
    const error = await namesOf(iterate.getPlants({ limit: 1 }), names).catch((thrown: unknown) => thrown)
    return { names, error, next: (await raw.getPlants().catch(() => undefined))?.nextCursor }
  }

  test.each<[link: string, cursor: string | undefined]>([
    ['<?limit=1&cursor=a%2Fb%2B+c>; rel="next"', 'a/b+ c'],
    ['<https://proxy.example/shop/plants?cursor=a,b&size=2#top>;rel=next', 'a,b'],
    ['<?cursor=a>; rel="prev", <?cursor=b>; title="a, b"; REL="last Next"', 'b'],
    ['<?cursor=b>; rel="prev"', undefined],
    ['<?cursor=b>; rel="last nextish"', undefined],
  ])('in %s has the cursor %s', async (link, cursor) => {
    const { names, next } = await follow((from) => (from === undefined ? link : ''))
    const pages = cursor === undefined ? [] : [`/plants?limit=1&cursor=${encodeURIComponent(cursor)}`]
    expect([next, names]).toEqual([cursor, ['/plants?limit=1', ...pages]])
  })

  const invalid = ['/plants?limit=1&cursor=', 'http://[', '?limit=1']
  test.each(invalid)('without a cursor, %s, is an error after the plants of this page', async (target) => {
    const { names, error } = await follow(() => `<${target}>; rel="next"`)
    expect(names).toHaveLength(1)
    expect(error).toBeInstanceOf(MalformedResponseError)
    expect(error).toMatchObject({ detail: `responded 200 with an invalid link: <${target}>; rel="next"` })
  })

  // What leads into the cycle, and its pages.
  test.each([
    ['', 'a', 2],
    ['xy', 'abc', 6],
  ])('that leads by "%s" into the cycle "%s" is an error after %i pages', async (start, cycle, pages) => {
    const path = `${start}${cycle}${cycle[0]}`
    const linkOf = (from = '') => `<?cursor=${path.charAt(from === '' ? 0 : 1 + path.indexOf(from))}>; rel="next"`
    const { names, error } = await follow(linkOf)
    expect(error).toBeInstanceOf(MalformedResponseError)
    expect(names).toHaveLength(pages)
  })

  // Each would take minutes in quadratic time.
  test.each([
    ['<a>; rel=', ' '],
    ['<', '<'],
  ])('in a long header of %j and many %j is found in time', async (begin, more) => {
    const headers = new Map([['link', begin + more.repeat(300_000)]])
    const fetch = async () => ({ status: 200, headers, text: async () => '[]' }) as unknown as FetchResponse
    const { raw } = createPlantStoreClient({ ...createFakePlantStore(), fetch })
    expect((await raw.getPlants()).nextCursor).toBeUndefined()
  })
})

test('raw and safe show a 304 to a condition, with its links, and what returns data only rejects it', async () => {
  const { client, store } = storeWith(3)
  const link = '<?cursor=b>; rel="next", <?cursor=b>; rel="end"'
  store.failNext({ status: 304, headers: { etag: '"1"', link } }, Infinity)
  const hooks = { request: ({ headers }: Attempt) => void Object.assign(headers, { 'If-None-Match': '"1"' }) }
  const expected = { status: 304, notModified: true, data: undefined, nextCursor: 'b', endCursor: 'b' }
  for (const options of [{ headers: { 'If-None-Match': '"1"' } }, { hooks }]) {
    const result = await client.raw.getPlants({}, options)
    expect(result).toMatchObject({ ...expected, attempts: 1 })
    expect(result.headers.get('etag')).toBe('"1"')
    expect(await client.safe.getPlants({}, options)).toMatchObject({ ...expected, ok: true })
    const reason = /304 for your If-None-Match, which raw and safe return/
    await expect(client.getPlants({}, options)).rejects.toThrow(reason)
    await expect(namesOf(client.iterate.getPlants({}, options))).rejects.toThrow(reason)
  }
  // This one has no tag in its request.
  await expect(client.raw.getPlants()).rejects.toThrow(MalformedResponseError)
})

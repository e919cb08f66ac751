/** Paging: a page is fetched only when the loop needs it. */
import { describe, expect, test, vi } from 'vitest'
import { AbortError, ApiError, createPlantStoreClient, MalformedResponseError } from '../../src/index.ts'
import { nextTarget } from '../../src/pages.ts'
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
    expect(listed()).toEqual(['?limit=100', '?limit=100&cursor=fake-0-99'])
    expect(store.requests.map(({ headers }) => headers['x-job'])).toEqual(['7', '7'])
  })

  test('fetches no page before the loop reaches it, and retries one that fails without skipping a plant', async () => {
    const { store, client, listed } = storeWith(5)
    const plants = client.iterate.getPlants({ limit: 2 })
    expect(listed()).toHaveLength(0)
    for (const [id, requests] of [1, 1, 4, 4, 5].entries()) {
      expect((await plants.next()).value).toEqual({ name: `plant ${id}` })
      expect(listed()).toHaveLength(requests)
      if (id === 1) for (const fault of [{ status: 503 }, new TypeError('terminated')]) store.failNext(fault)
    }
    expect(await plants.next()).toEqual({ done: true, value: undefined })
    expect(listed()).toHaveLength(5)
  })

  test('throws in the loop, after the plants of the pages before', async () => {
    const { store, client } = storeWith(3)
    const names: string[] = []
    const loop = namesOf(client.iterate.getPlants({ limit: 2 }), names, () => store.revokeToken(store.token))
    expect(await failureOf(loop, ApiError)).toMatchObject({ status: 401, code: 40103 })
    expect(names).toEqual(['plant 0', 'plant 1'])
  })

  test('a second loop starts again, and the first one continues after next', async () => {
    const { client, listed } = storeWith(3)
    const plants = client.iterate.getPlants({ limit: 2 })
    expect((await plants.next()).value).toEqual({ name: 'plant 0' })
    expect(await namesOf(plants)).toEqual(['plant 1', 'plant 2'])
    for await (const plant of plants) {
      expect(plant).toEqual({ name: 'plant 0' })
      break
    }
    expect(await namesOf(plants)).toEqual(['plant 0', 'plant 1', 'plant 2'])
    expect(listed()).toHaveLength(5)
  })

  test('an abort throws in the loop after the plants that have been read', async () => {
    const controller = new AbortController()
    const names: string[] = []
    const plants = storeWith(4).client.iterate.getPlants({ limit: 2 }, { signal: controller.signal })
    const loop = namesOf(plants, names, () => controller.abort())
    await failureOf(loop, AbortError)
    expect(names).toEqual(['plant 0', 'plant 1'])
  })
})

/** Starts a server with two pages, the first with this header, and creates a client of it. */
async function startPages(link: string) {
  const server = await startTinyServer((response, { url, headers }) => {
    const isFirst = new URL(url, 'http://any').searchParams.get('cursor') === null
    if (isFirst) response.setHeader('link', link.replace('ORIGIN', `http://${headers.host}`))
    sendJson(response, url.startsWith('/shop/plants') ? 200 : 500, [{ name: isFirst ? 'first' : url }])
  })
  return { ...server, client: server.createClient({ baseUrl: `${server.url}/shop` }) }
}

describe('the link to the next page', () => {
  test.each<[link: string, cursor: string | undefined]>([
    ['<?limit=1&cursor=a%2Fb%2B+c>; rel="next"', 'a/b+ c'],
    ['</shop/plants?cursor=a,b&size=2#top>; rel="next"', 'a,b'],
    ['<ORIGIN/shop/plants?limit=7&cursor=b>;rel=next', 'b'],
    ['<?cursor=b>; title="a, b"; REL="last Next"', 'b'],
    ['<?cursor=a>; rel="prev", <?cursor=b>; rel="next"', 'b'],
    ['<?cursor=b>; rel="prev"', undefined],
    ['?cursor=b; rel="next"', undefined],
    ['<?cursor=b>; rel=next-page', undefined],
    ['<?cursor=b>; rel="last nextish"', undefined],
  ])('in %s has the cursor %s, whatever else it has', async (link, cursor) => {
    await using server = await startPages(link)
    const { iterate, raw } = server.client
    const next = cursor === undefined ? [] : [`/shop/plants?limit=1&cursor=${encodeURIComponent(cursor)}`]
    expect(await namesOf(iterate.getPlants({ limit: 1 }))).toEqual(['first', ...next])
    expect((await raw.getPlants({ limit: 1 })).nextCursor).toBe(cursor)
  })

  test.each([
    ['of another origin', 'http://127.0.0.1:1/shop/plants?cursor=b'],
    ['of another scheme', 'https://127.0.0.1/shop/plants?cursor=b'],
    ['that only looks relative', '//plants.example.com/shop/plants?cursor=b'],
    ['of another path', '/plants?cursor=b'],
    ['of a part of the path', 'plants?cursor=b'],
    ['of a user', 'http://me@127.0.0.1/shop/plants?cursor=b'],
    ['that is not a URL', 'http://['],
    ['without a cursor', '/shop/plants?limit=1&cursor='],
    ['with a malformed cursor', '?cursor=%zz'],
  ])('is rejected with a URL %s, after the plants of this page', async (_, target) => {
    await using server = await startPages(`<${target}>; rel="next"`)
    const plants = server.client.iterate.getPlants({ limit: 1 })
    expect((await plants.next()).value).toEqual({ name: 'first' })
    const error = await failureOf(plants.next(), MalformedResponseError)
    expect(error.message).toContain(`responded 200 with an invalid link: <${target}>`)
    expect(server.requests).toHaveLength(1)
    await failureOf(server.client.raw.getPlants({ limit: 1 }), MalformedResponseError)
  })
})

test('pages need no URL parser but that of React Native 0.76 to 0.88, which joins texts and has only href', async () => {
  class ReactNativeUrl {
    readonly #url: string
    constructor(url: string, base?: string) {
      this.#url = base === undefined ? url.replace(/\/?$/, '/') : `${base.replace(/\/$/, '')}/${url}`
      for (const name of ['origin', 'pathname', 'search', 'searchParams']) {
        Object.defineProperty(this, name, { get: () => expect.fail(`URL.${name} is not implemented`) })
      }
    }
    get href() {
      return this.#url
    }
  }
  vi.stubGlobal('URL', ReactNativeUrl)
  const urls: string[] = []
  const fetch = async (url: string) => {
    const headers = new Headers(urls.push(url) < 3 ? { link: `<?limit=2&cursor=${urls.length}>; rel="next"` } : {})
    return { status: 200, headers, text: async () => '[{"name":"Ficus"}]' }
  }
  const client = createPlantStoreClient({ baseUrl: 'https://example.com/shop', token: 'pst_test', fetch })
  expect(await namesOf(client.iterate.getPlants({ limit: 2 }))).toHaveLength(3)
  expect(urls).toEqual(['', '&cursor=1', '&cursor=2'].map((end) => `https://example.com/shop/plants?limit=2${end}`))
  vi.unstubAllGlobals()
})

test('pages that point at each other are an error, after the plants of each', async () => {
  await using server = await startTinyServer((response, { url }) => {
    response.setHeader('link', `<?cursor=${url.endsWith('a') ? 'b' : 'a'}>; rel="next"`)
    sendJson(response, 200, [{ name: url }])
  })
  const names: string[] = []
  await failureOf(namesOf(server.createClient().iterate.getPlants(), names), MalformedResponseError)
  expect(names).toEqual(['', '&cursor=a', '&cursor=b'].map((cursor) => `/plants?limit=100${cursor}`))
})

// Each would take minutes in quadratic time.
const starts = ['<a>; rel=', '<', '<a>; rel="', '<a>;', '<a>; rel', '; rel=', 'next ']
test.each(starts)('a long Link header of %j is read in time', (part) => {
  for (const filler of [' ', part]) expect(nextTarget(part + filler.repeat(300_000))).toBeUndefined()
})

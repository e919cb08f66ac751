/** Paging: a page is fetched only when the loop needs it. */
import { describe, expect, test } from 'vitest'
import { AbortError, ApiError, createPlantStoreClient, MalformedResponseError } from '../../src/index.ts'
import { createFakePlantStore } from '../../src/testing/index.ts'
import { nextLink } from '../../src/wire/request.ts'
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
    expect(listed()).toEqual(['?limit=100', '?limit=100&cursor=fake-0-100'])
    expect(store.requests.map(({ headers }) => headers['x-job'])).toEqual(['7', '7'])
  })

  test('fetches no page before the loop reaches it, and retries one that fails without skipping a plant', async () => {
    const { store, client, listed } = storeWith(5)
    const plants = client.iterate.getPlants({ limit: 2 })
    expect(listed()).toHaveLength(0)
    for (const [id, requests] of [1, 1, 4, 4, 5].entries()) {
      expect((await plants.next()).value).toEqual({ name: `plant ${id}` })
      expect(listed()).toHaveLength(requests)
      if (id === 1) for (const fault of [{ status: 503 }, { cutBodyAfter: 10 }]) store.failNext(fault)
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

  test('an abort ends the loop after the plants that have been read', async () => {
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
  test.each<[link: string, next: string | undefined]>([
    ['<?limit=1&cursor=a%2Fb>; rel="next"', '?limit=1&cursor=a%2Fb'],
    ['</shop/plants?cursor=a,b>; rel="next"', '?cursor=a,b'],
    ['<ORIGIN/shop/plants?cursor=b>;rel=next', '?cursor=b'],
    ['<?cursor=b>; title="a, b"; REL="last Next"', '?cursor=b'],
    ['<?cursor=a>; rel="prev", <?cursor=b>; rel="next"', '?cursor=b'],
    ['<?cursor=b>; rel="prev"', undefined],
    ['?cursor=b; rel="next"', undefined],
    ['<?cursor=b>; rel=next-page', undefined],
    ['<?cursor=b>; rel="last nextish"', undefined],
  ])('in %s is %s', async (link, next) => {
    await using server = await startPages(link)
    const { iterate, raw } = server.client
    const pages = next === undefined ? ['first'] : ['first', `/shop/plants${next}`]
    expect(await namesOf(iterate.getPlants({ limit: 1 }))).toEqual(pages)
    const cursor = new URLSearchParams(next).get('cursor') ?? undefined
    expect((await raw.getPlants({ limit: 1 })).nextCursor).toBe(cursor)
  })

  test.each([
    ['of another origin', 'http://127.0.0.1:1/shop/plants?cursor=b'],
    ['of another scheme', 'https://127.0.0.1/shop/plants?cursor=b'],
    ['that only looks relative', '//plants.example.com/shop/plants?cursor=b'],
    ['that is not a URL', 'http://['],
    ['to the same page', '/shop/plants?limit=1'],
  ])('is rejected with a URL %s, after the plants of this page', async (_, target) => {
    await using server = await startPages(`<${target}>; rel="next"`)
    const plants = server.client.iterate.getPlants({ limit: 1 })
    expect((await plants.next()).value).toEqual({ name: 'first' })
    const error = await failureOf(plants.next(), MalformedResponseError)
    expect(error.message).toContain(`responded 200 with an invalid link to the next page: ${target}`)
    expect(server.requests).toHaveLength(1)
    await failureOf(server.client.raw.getPlants({ limit: 1 }), MalformedResponseError)
  })
})

test('pages that point at each other are an error, after the plants of each', async () => {
  await using server = await startTinyServer((response, { url }) => {
    response.setHeader('link', `<?cursor=${url.endsWith('a') ? 'b' : 'a'}>; rel="next"`)
    sendJson(response, 200, [{ name: url }])
  })
  const names: string[] = []
  await failureOf(namesOf(server.createClient().iterate.getPlants(), names), MalformedResponseError)
  expect(names).toEqual(['/plants?limit=100', '/plants?cursor=a', '/plants?cursor=b'])
})

// Each would take minutes in quadratic time.
const starts = ['<a>; rel=', '<', '<a>; rel="', '<a>;', '<a>; rel', '; rel=', 'next ']
test.each(starts)('a long Link header of %j is read in time', (part) => {
  for (const filler of [' ', part]) expect(nextLink(part + filler.repeat(300_000))).toBeUndefined()
})

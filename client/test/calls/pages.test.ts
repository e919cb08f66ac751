/** Paging: a page is fetched only when the loop needs it. */
import { describe, expect, test } from 'vitest'
import { AbortError, ApiError, createPlantStoreClient, MalformedResponseError } from '../../src/index.ts'
import { createFakePlantStore } from '../../src/testing/index.ts'
import { nextLink } from '../../src/wire/request.ts'
import { failureOf } from '../helpers/failure-of.ts'
import { sendJson, startTinyServer } from '../helpers/tiny-server.ts'

async function storeWith(count: number) {
  const store = createFakePlantStore()
  const client = createPlantStoreClient(store)
  for (let id = 0; id < count; id++) await client.createPlant({ id, name: `plant ${id}` })
  const listed = () => store.requests.filter(({ method }) => method === 'GET').map(({ url }) => new URL(url).search)
  return { store, client, listed }
}

async function namesOf(plants: AsyncIterable<{ name: string }>): Promise<string[]> {
  const names: string[] = []
  for await (const { name } of plants) names.push(name)
  return names
}

describe('iterate', () => {
  test('requests pages of 100 by default', async () => {
    const { client, listed } = await storeWith(101)
    expect(await namesOf(client.iterate.getPlants())).toHaveLength(101)
    expect(await namesOf(client.iterate.getPlants({ limit: undefined }))).toHaveLength(101)
    expect(listed()).toEqual([
      '?limit=100',
      '?limit=100&cursor=fake-0-100',
      '?limit=100',
      '?limit=100&cursor=fake-0-100',
    ])
  })

  test('fetches nothing before the loop starts, and no page before the loop reaches it', async () => {
    const { client, listed } = await storeWith(5)
    const plants = client.iterate.getPlants({ limit: 2 })
    expect(listed()).toHaveLength(0)
    for (const pages of [1, 1, 2, 2, 3]) {
      await plants.next()
      expect(listed()).toHaveLength(pages)
    }
    expect(await plants.next()).toEqual({ done: true, value: undefined })
    expect(listed()).toHaveLength(3)
  })

  test('retries a page that fails, without skipping or repeating a plant', async () => {
    const { store, client } = await storeWith(5)
    const plants = client.iterate.getPlants({ limit: 2 })
    const names = [(await plants.next()).value?.name]
    store.failNext({ status: 503 })
    store.failNext({ cutBodyAfter: 10 })
    for await (const { name } of plants) names.push(name)
    expect(names).toEqual(['plant 0', 'plant 1', 'plant 2', 'plant 3', 'plant 4'])
  })

  test('throws in the loop, after the plants of the pages before', async () => {
    const { store, client } = await storeWith(3)
    const names: string[] = []
    const loop = async () => {
      for await (const { name } of client.iterate.getPlants({ limit: 2 })) {
        names.push(name)
        store.revokeToken(store.token)
      }
    }
    expect(await failureOf(loop(), ApiError)).toMatchObject({ status: 401, code: 40103 })
    expect(names).toEqual(['plant 0', 'plant 1'])
  })

  test('a second loop starts again, and the first one continues after next', async () => {
    const { client, listed } = await storeWith(3)
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
    const { client } = await storeWith(4)
    const controller = new AbortController()
    const names: string[] = []
    const loop = async () => {
      for await (const { name } of client.iterate.getPlants({ limit: 2 }, { signal: controller.signal })) {
        names.push(name)
        controller.abort()
      }
    }
    await failureOf(loop(), AbortError)
    expect(names).toEqual(['plant 0', 'plant 1'])
  })

  test('applies options to every page', async () => {
    const { store, client } = await storeWith(3)
    await namesOf(client.iterate.getPlants({ limit: 2 }, { headers: { 'x-job': '7' } }))
    const pages = store.requests.filter(({ method }) => method === 'GET')
    expect(pages.map(({ headers }) => headers['x-job'])).toEqual(['7', '7'])
  })
})

/** Starts a server with two pages, the first with this header. */
function startPages(link: string) {
  return startTinyServer((response, { url, headers }) => {
    const isFirst = new URL(url, 'http://any').searchParams.get('cursor') === null
    if (isFirst) response.setHeader('link', link.replace('ORIGIN', `http://${headers.host}`))
    sendJson(response, url.startsWith('/shop/plants') ? 200 : 500, [{ name: isFirst ? 'first' : url }])
  })
}

describe('the link to the next page', () => {
  test.each<[string, link: string, next?: string]>([
    ['is relative, with a query alone', '<?limit=1&cursor=a%2Fb>; rel="next"', '?limit=1&cursor=a%2Fb'],
    ['is relative, with a path', '</shop/plants?cursor=b>; rel="next"'],
    ['is an absolute URL', '<ORIGIN/shop/plants?cursor=b>; rel="next"'],
    ['has no quotes', '<?cursor=b>;rel=next'],
    ['has several relations', '<?cursor=b>; title="a, b"; REL="last Next"'],
    ['is one of several relations', '<?cursor=b>; title="b"; rel="last next"'],
    ['is one of several', '<?cursor=a>; rel="prev", <?cursor=b>; rel="next"'],
    ['has a comma in it', '<?cursor=a,b>; rel="next"', '?cursor=a,b'],
  ])('%s', async (_, link, next = '?cursor=b') => {
    const second = `/shop/plants${next}`
    await using server = await startPages(link)
    const client = createPlantStoreClient({ baseUrl: `${server.url}/shop`, token: 'pst_test' })
    expect(await namesOf(client.iterate.getPlants({ limit: 1 }))).toEqual(['first', second])
    const cursor = new URL(second, 'http://any').searchParams.get('cursor')
    expect((await client.raw.getPlants({ limit: 1 })).nextCursor).toBe(cursor)
  })

  test.each([
    ...['<?cursor=b>; rel="prev"', '<?cursor=b>', '?cursor=b; rel="next"', '<?cursor=b>; rel="nextish"'],
    ...['<?cursor=b>; rel=next-page', '<?cursor=b>; rel="last nextish"', ''],
  ])('is absent in %s', async (link) => {
    await using server = await startPages(link)
    const client = createPlantStoreClient({ baseUrl: `${server.url}/shop`, token: 'pst_test' })
    expect(await namesOf(client.iterate.getPlants())).toEqual(['first'])
  })

  test.each([
    ['of another origin', 'http://127.0.0.1:1/shop/plants?cursor=b'],
    ['of another scheme', 'https://127.0.0.1/shop/plants?cursor=b'],
    ['that only looks relative', '//plants.example.com/shop/plants?cursor=b'],
    ['that is not a URL', 'http://['],
    ['to the same page', '/shop/plants?limit=1'],
  ])('is rejected with a URL %s, after the plants of this page', async (_, target) => {
    await using server = await startPages(`<${target}>; rel="next"`)
    const client = createPlantStoreClient({ baseUrl: `${server.url}/shop`, token: 'pst_test' })
    const plants = client.iterate.getPlants({ limit: 1 })
    expect((await plants.next()).value).toEqual({ name: 'first' })
    const error = await failureOf(plants.next(), MalformedResponseError)
    expect(error.message).toContain(`responded 200 with an invalid link to the next page: ${target}`)
    expect(server.requests).toHaveLength(1)
    await failureOf(client.raw.getPlants({ limit: 1 }), MalformedResponseError)
  })
})

test('pages that point at each other are an error, after the plants of each', async () => {
  await using server = await startTinyServer((response, { url }) => {
    response.setHeader('link', `<?cursor=${url.endsWith('a') ? 'b' : 'a'}>; rel="next"`)
    sendJson(response, 200, [{ name: url }])
  })
  const names: string[] = []
  const loop = async () => {
    const client = createPlantStoreClient({ baseUrl: server.url, token: 'pst_test' })
    for await (const { name } of client.iterate.getPlants()) names.push(name)
  }
  await failureOf(loop(), MalformedResponseError)
  expect(names).toEqual(['/plants?limit=100', '/plants?cursor=a', '/plants?cursor=b'])
})

// Each would take minutes in quadratic time.
test.each(['<a>; rel=', '<', '<a>; rel="', '<a>;', '<a>; rel', '; rel=', 'next '])(
  'a long Link header of %j is read in time',
  (part) => {
    for (const filler of [' ', part]) expect(nextLink(part + filler.repeat(300_000))).toBeUndefined()
  },
)

test('raw has a cursor of a list alone', async () => {
  const { client } = await storeWith(1)
  expect(await client.raw.getPlants()).toHaveProperty('nextCursor', undefined)
  expect(await client.raw.createPlant({ id: 9, name: 'Ficus' })).not.toHaveProperty('nextCursor')
})

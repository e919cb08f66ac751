/** What GET /plants with a limit lists, and its links. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTestServer, type TestServer } from '../../../test/helpers/server/start-test-server.ts'
import { newAccount } from '../helpers/plants/accounts.ts'

let server: TestServer
beforeAll(async () => {
  server = await startTestServer()
})
afterAll(() => server.close())

function nextOf(response: Response): string | undefined {
  const [, reference] = /^<([^>]*)>; rel="next"$/.exec(response.headers.get('link') ?? '') ?? []
  return reference === undefined ? undefined : new URL(reference, response.url).search
}

test('the pages together are the list, also while plants are added', async () => {
  const token = await newAccount(server)
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

test('the last page has no link, even if it is full', async () => {
  const token = await newAccount(server)
  for (const id of [1, 2]) await server.post(`{"id":${id},"name":"Ficus"}`, { token })
  expect(nextOf(await server.call('/plants?limit=1', { token }))).toMatch(/^\?limit=1&cursor=[\w-]+$/)
  expect(nextOf(await server.call('/plants?limit=2', { token }))).toBeUndefined()
  expect(nextOf(await server.call('/plants?limit=1000', { token }))).toBeUndefined()
  expect(nextOf(await server.call('/plants', { token }))).toBeUndefined()
})

test('a cursor without a limit lists the rest', async () => {
  const token = await newAccount(server)
  for (const id of [1, 2, 3]) await server.post(`{"id":${id},"name":"${id}"}`, { token })
  const cursor = nextOf(await server.call('/plants?limit=1', { token }))?.replace('limit=1&', '')
  expect(await (await server.call(`/plants${cursor}`, { token })).json()).toEqual([{ name: '2' }, { name: '3' }])
})

test('the link is absolute if PUBLIC_URL is set', async () => {
  await using behindProxy = await startTestServer({ publicUrl: 'https://plants.example.com/api' })
  for (const id of [1, 2]) await behindProxy.post(`{"id":${id},"name":"Ficus"}`)
  expect((await behindProxy.call('/plants?limit=1')).headers.get('link')).toMatch(
    /^<https:\/\/plants\.example\.com\/api\/plants\?limit=1&cursor=[\w-]+>; rel="next"$/,
  )
})

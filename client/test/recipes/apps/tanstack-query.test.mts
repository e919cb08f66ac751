// @vitest-environment jsdom
/** What a reader of the recipe for TanStack Query does with it, in an app of its own. */
import { createPlantStoreClient, type PlantStoreClient } from '@plant-store/client'
import { MutationObserver, QueryClient, QueryObserver } from '@tanstack/react-query'
import { expect, test, vi } from 'vitest'
import { createPlantQueries, createQueryClient } from './plant-queries'

const OVERLOADED_URL = process.env['OVERLOADED_URL']

/** Observes the list, as a component does, until that fails. */
function failureOf(client: PlantStoreClient, queryClient: QueryClient): Promise<unknown> {
  const observer = new QueryObserver(queryClient, createPlantQueries(client).list)
  return new Promise((resolve) => observer.subscribe(({ error }) => error && resolve(error)))
}

test('a list is invalid after a plant was added', async () => {
  const { list, create } = createPlantQueries(createPlantStoreClient())
  const queryClient = createQueryClient()
  const query = { ...list, staleTime: Number.POSITIVE_INFINITY }
  expect(await queryClient.fetchQuery(query)).toEqual([])
  await new MutationObserver(queryClient, create).mutate({ id: 9007199254740993n, name: 'Ficus' })
  expect(await queryClient.fetchQuery(query)).toEqual([{ name: 'Ficus' }])
})

test.each([
  ['one', createQueryClient()],
  ['two', new QueryClient({ defaultOptions: { queries: { retryDelay: 0 } } })],
])('there are %s layers of retries', async (name, queryClient) => {
  const client = createPlantStoreClient({ baseUrl: `${OVERLOADED_URL}/${name}`, token: 'pst_test' })
  expect(await failureOf(client, queryClient)).toMatchObject({ kind: 'api', status: 503 })
})

test('a query that is cancelled aborts the request', async () => {
  const events: string[] = []
  const client = createPlantStoreClient({
    hooks: { request: () => void events.push('request'), error: (_, { kind }) => events.push(kind) },
    fetch: (_, { signal }) => new Promise((_resolve, reject) => signal?.addEventListener('abort', reject)),
  })
  const queryClient = createQueryClient()
  void queryClient.fetchQuery(createPlantQueries(client).list).catch(() => undefined)
  await vi.waitUntil(() => events.length === 1, 20_000)
  await queryClient.cancelQueries()
  await vi.waitUntil(() => events.length === 2, 20_000)
  expect(events).toEqual(['request', 'aborted'])
})

test('pages follow each other', async () => {
  const client = createPlantStoreClient()
  for (let id = 0; id < 50; id++) await client.createPlant({ id, name: `plant ${id}` })
  const list = await createQueryClient().fetchInfiniteQuery({ ...createPlantQueries(client).pages, pages: 2 })
  expect(list.pages.map(({ plants }) => plants.length)).toEqual([50, 1])
})

// @vitest-environment jsdom
/** What a reader of the React recipe does with it. `react.test.ts` runs this in an app of its own. */
import { createPlantStoreClient, type PlantStoreClient } from '@plant-store/client'
import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { createRoot } from 'react-dom/client'
import { expect, test, vi } from 'vitest'
import { createPlantQueries, createQueryClient } from './plant-queries'
import { Plants } from './plants'

const OVERLOADED = { baseUrl: String(process.env['OVERLOADED_URL']), token: 'pst_test' }
const WAIT = { timeout: 20_000 }

/** Renders the component and returns a function that removes it. */
function render(client: PlantStoreClient, queryClient = createQueryClient()): () => void {
  const root = createRoot(document.body.appendChild(document.createElement('div')))
  root.render(
    <QueryClientProvider client={queryClient}>
      <Plants client={client} />
    </QueryClientProvider>,
  )
  return () => root.unmount()
}

const find = (selector: string) => vi.waitUntil(() => document.querySelector<HTMLElement>(selector), WAIT)

test('the button adds a plant and the list shows it', async () => {
  const unmount = render(createPlantStoreClient())
  ;(await find('button')).click()
  expect((await find('li')).textContent).toBe('Ficus')
  unmount()
})

test('one layer of retries', async () => {
  const unmount = render(createPlantStoreClient({ ...OVERLOADED, baseUrl: `${OVERLOADED.baseUrl}/one` }))
  expect((await find('[role=alert]')).textContent).toContain('responded 503')
  unmount()
})

test('two layers of retries', async () => {
  const client = createPlantStoreClient({ ...OVERLOADED, baseUrl: `${OVERLOADED.baseUrl}/two` })
  const unmount = render(client, new QueryClient({ defaultOptions: { queries: { retryDelay: 0 } } }))
  await find('[role=alert]')
  unmount()
})

test('unmounting aborts the request', async () => {
  const events: string[] = []
  const client = createPlantStoreClient({
    hooks: { request: () => void events.push('request'), error: (_, { kind }) => events.push(kind) },
    fetch: (_, { signal }) => new Promise((_resolve, reject) => signal?.addEventListener('abort', reject)),
  })
  const unmount = render(client)
  await vi.waitUntil(() => events.length === 1, WAIT)
  unmount()
  await vi.waitUntil(() => events.length === 2, WAIT)
  expect(events).toEqual(['request', 'aborted'])
})

test('pages follow each other', async () => {
  const client = createPlantStoreClient()
  for (let id = 0; id < 50; id++) await client.createPlant({ id, name: `plant ${id}` })
  const { pages } = createPlantQueries(client)
  const list = await createQueryClient().fetchInfiniteQuery({ ...pages, pages: 2 })
  expect(list.pages.map(({ plants }) => plants.length)).toEqual([50, 1])
})

test('a key has an id as text, because a bigint cannot be one', async () => {
  const queryClient = createQueryClient()
  queryClient.setQueryData(['plant', String(9007199254740993n)], 'Ficus')
  expect(queryClient.getQueryData(['plant', '9007199254740993'])).toBe('Ficus')
  expect(() => queryClient.setQueryData(['plant', 1n], 'Ficus')).toThrow('BigInt')
})

// An app that must compile with every version of TypeScript, with and without DOM types, and with every minor version.
import {
  AbortError,
  ApiError,
  type Attempt,
  type CallOptions,
  type ClientOptions,
  ConnectionError,
  type CreatePlantError,
  createPlantStoreClient,
  errorCodes,
  type GetPlantsQuery,
  type Hooks,
  MalformedResponseError,
  type NewPlant,
  type Plant,
  type PlantStoreClient,
  PlantStoreError,
  type Result,
  TimeoutError,
  UsageError,
} from '@plant-store/client'
import { createApiError, createFakePlantStore, type FakePlantStore } from '@plant-store/client/testing'

const hooks: Hooks = {
  request: async (attempt: Attempt) => {
    attempt.headers['traceparent'] = '00-1'
  },
  response: (attempt, { status, duration }) => `${attempt.number} ${status} ${duration}`,
}
const options: ClientOptions = {
  baseUrl: 'https://example.com',
  token: async ({ rejected }) => (rejected ? 'pst_b' : 'pst_a'),
  hooks: [hooks, { error: (_, error) => error.retryable }],
  fetch: async () => ({
    status: 200,
    headers: { get: () => null, has: () => false, forEach: () => {} },
    text: async () => '',
  }),
}

export const client: PlantStoreClient = createPlantStoreClient(options).withOptions({ timeout: 1000, retries: 0 })
export const store: FakePlantStore = createFakePlantStore()
export const tested: PlantStoreClient = createPlantStoreClient({ ...store, retries: 0 }).withOptions({
  token: false,
  hooks,
})
export const taken: ApiError = createApiError({ name: 'idTaken', operation: 'createPlant' })
store.add([{ id: 1n, name: 'Ficus' }], 'bob')

export async function use(plant: NewPlant, query: GetPlantsQuery, call: CallOptions): Promise<Plant[]> {
  const created: Plant = await client.createPlant({ ...plant, id: 9007199254740993n }, call)
  const { data, status, requestId, nextCursor } = await client.raw.getPlants(query)
  const result: Result<Plant, CreatePlantError> = await client.safe.createPlant({ id: 1, name: 'Ficus' })
  if (result.ok) data.push(result.data)
  else if (result.error.kind === 'api') status satisfies number
  for await (const listed of client.iterate.getPlants({ limit: 500, cursor: nextCursor })) data.push(listed)
  return requestId === undefined ? [] : [created, ...data]
}

export function explain(error: unknown): string {
  if (error instanceof ApiError) return error.code === errorCodes.idTaken ? 'taken' : `${error.status}`
  if (error instanceof TimeoutError) return error.kind
  if (error instanceof ConnectionError) return error.kind
  if (error instanceof AbortError) return String(error.reason)
  if (error instanceof MalformedResponseError) return error.headers.get('content-type') ?? 'none'
  if (error instanceof UsageError) return error.message
  return error instanceof PlantStoreError ? error.kind : 'another'
}

// @ts-expect-error: id is required
client.createPlant({ name: 'Ficus' })
// @ts-expect-error: an id is not text
client.createPlant({ id: '1', name: 'Ficus' })
// @ts-expect-error: no such option
createPlantStoreClient({ baseURL: 'https://example.com' })

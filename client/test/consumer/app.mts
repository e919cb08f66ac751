// An app that must compile with every version of TypeScript, with and without DOM types, and with every minor version.
import * as sdk from '@plant-store/client'
import { createFakePlantStore, type FakePlantStore } from '@plant-store/client/testing'

const hooks: sdk.Hooks = {
  request: async (attempt: sdk.Attempt) => {
    attempt.headers['traceparent'] = '00-1'
  },
  response: (attempt, { status, duration }) => `${attempt.number} ${status} ${duration}`,
}
const options: sdk.ClientOptions = {
  baseUrl: 'https://example.com',
  token: async ({ rejected }) => (rejected ? 'pst_b' : 'pst_a'),
  hooks: [hooks, { error: (_, error) => error.retryable }],
  fetch: async () => ({
    status: 200,
    headers: { get: () => null, has: () => false, forEach: () => {} },
    text: async () => '',
  }),
}

export const client: sdk.PlantStoreClient = sdk.createPlantStoreClient(options)
export const patient: sdk.PlantStoreClient = client.withOptions({ token: false, hooks, timeout: 1000, retries: 0 })
export const store: FakePlantStore = createFakePlantStore()
store.createToken({ account: undefined, scopes: undefined, expiresAt: undefined })
store.add([{ id: 1n, name: 'Ficus' }], 'bob')

export async function use(plant: sdk.NewPlant, query: sdk.GetPlantsInput, call: sdk.CallOptions): Promise<sdk.Plant[]> {
  const created: sdk.Plant = await client.createPlant({ ...plant, id: 9007199254740993n }, call)
  const { data, notModified, status, requestId, nextCursor } = await client.raw.getPlants(query)
  if (notModified) return []
  const result: sdk.Result<sdk.Plant> = await client.safe.createPlant({ id: 1, name: 'Ficus' })
  if (result.ok) data.push(result.data)
  else if (result.error.kind === 'api') status satisfies number
  for await (const listed of client.iterate.getPlants({ limit: 500, cursor: nextCursor })) data.push(listed)
  return requestId === undefined ? [] : [created, ...data]
}

export function explain(error: unknown): string {
  if (error instanceof sdk.TimeoutError && error.lastFailure?.kind === 'api') return `${error.lastFailure.retryAfterMs}`
  if (error instanceof sdk.ApiError) return error.code === sdk.errorCodes.idTaken ? 'taken' : `${error.status}`
  if (error instanceof sdk.ConnectionError) return error.kind
  if (error instanceof sdk.AbortError) return String(error.reason)
  if (error instanceof sdk.MalformedResponseError) return error.headers.get('content-type') ?? 'none'
  if (error instanceof sdk.PlantStoreError && error.kind === 'usage') return error.issues.map(({ path }) => path).join()
  return error instanceof sdk.PlantStoreError ? error.kind : 'another'
}

// An editor completes the codes, although a later service may have others.
export const code: Extract<sdk.ApiError['code'], sdk.ErrorCode> = 40003
export const later: sdk.ApiError['code'] = 41800

declare const found: string | undefined
// @ts-expect-error: the token may be undefined
sdk.createPlantStoreClient({ token: found })
// @ts-expect-error: the base URL may be undefined
sdk.createPlantStoreClient({ baseUrl: found })
// @ts-expect-error: true does not say which token
sdk.createPlantStoreClient({ token: true })
// @ts-expect-error: a token function returns a token, or throws
sdk.createPlantStoreClient({ token: () => found })
client.getPlants({}, { timeout: undefined, signal: undefined, headers: undefined })
client.createPlant({ id: '1', name: 'Ficus' })

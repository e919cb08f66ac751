// An app that runs the same on every runtime. It prints what it observes.
import { ApiError, createPlantStoreClient } from '@plant-store/client'
import { createFakePlantStore } from '@plant-store/client/testing'

export async function run(baseUrl, token) {
  const client = createPlantStoreClient({ baseUrl, token, timeout: 20_000 })
  const seen = []
  for (const id of [9007199254740992n, 9007199254740993n, -9223372036854775808n, 3]) {
    seen.push(await client.createPlant({ id, name: `plant ${id} 🌱`, tag: 'é' }))
  }
  for await (const { name } of client.iterate.getPlants({ limit: 3 })) seen.push(name)
  const taken = await client.createPlant({ id: 3, name: 'another' }).catch((error) => error)
  seen.push(taken instanceof ApiError, taken.status, taken.code, typeof taken.requestId)
  seen.push((await client.safe.getPlants({}, { signal: AbortSignal.abort('left') })).error.kind)
  const redirected = createPlantStoreClient({ baseUrl: `${baseUrl}/redirect`, token, retries: 0 })
  seen.push((await redirected.safe.getPlants()).error.kind)
  const hanging = createPlantStoreClient({ baseUrl: `${baseUrl}/hang`, token, retries: 0, timeout: 200 })
  seen.push((await hanging.safe.getPlants()).error.kind)
  const store = createFakePlantStore()
  const tested = createPlantStoreClient({ ...store, retries: 1 })
  store.failNext(new TypeError('terminated'))
  seen.push((await tested.raw.createPlant({ id: 1n, name: 'Ficus' })).attempts)
  return JSON.stringify(seen)
}

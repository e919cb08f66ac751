// CommonJS next to ESM: instanceof works across the two copies.
const cjs = require('@plant-store/client')
const { createFakePlantStore } = require('@plant-store/client/testing')

async function start() {
  const esm = await import('@plant-store/client')
  const seen = [esm.ApiError !== cjs.ApiError]
  for (const { createPlantStoreClient } of [cjs, esm]) {
    const { error } = await createPlantStoreClient({ ...createFakePlantStore(), token: 'pst_unknown' }).safe.getPlants()
    for (const expected of [cjs.ApiError, esm.ApiError, esm.TimeoutError]) seen.push(error instanceof expected)
  }
  console.log(JSON.stringify(seen))
}
start()

// CommonJS next to ESM: instanceof works across the two copies.
const { ApiError, createPlantStoreClient } = require('@plant-store/client')
const { createFakePlantStore } = require('@plant-store/client/testing')

async function start() {
  const esm = await import('@plant-store/client')
  const store = createFakePlantStore()
  const options = { ...store, token: 'pst_unknown' }
  const { error } = await createPlantStoreClient(options).safe.getPlants()
  const { error: other } = await esm.createPlantStoreClient(options).safe.getPlants()
  console.log(
    JSON.stringify([
      esm.ApiError !== ApiError,
      error instanceof ApiError,
      error instanceof esm.ApiError,
      other instanceof ApiError,
      other instanceof esm.TimeoutError,
    ]),
  )
}
start()

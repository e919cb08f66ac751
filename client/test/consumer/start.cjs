// CommonJS next to ESM: instanceof works across the two copies.
const { ApiError, createPlantStoreClient } = require('@plant-store/client')
const { createFakePlantStore } = require('@plant-store/client/testing')

import('@plant-store/client').then(async (esm) => {
  const { error } = await createPlantStoreClient({ ...createFakePlantStore(), token: 'pst_unknown' }).safe.getPlants()
  console.log(esm.ApiError !== ApiError, error instanceof esm.ApiError, error instanceof esm.TimeoutError)
})

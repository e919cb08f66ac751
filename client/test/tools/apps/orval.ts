import type { App, Service } from './app'
import { createPlant, getPlants } from './generated/orval/fetch'
import { CreatePlantBody, CreatePlantResponse, GetPlantsQueryParams, GetPlantsResponse } from './generated/orval/zod'

/** `orval` with `fetch` and zod: an id is a `number`, which its validator limits, and no serializer can be set. */
export function createApp({ token }: Service): App {
  const options = { headers: { authorization: `Bearer ${token}` } }

  return {
    async create(plant) {
      const { status, data } = await createPlant(CreatePlantBody.parse(plant), options)
      return status === 200 ? CreatePlantResponse.parse(data) : data.error
    },
    async list() {
      const { status, data } = await getPlants(GetPlantsQueryParams.parse({ limit: 2 }), options)
      return status === 200 ? GetPlantsResponse.parse(data) : data.error
    },
    async createExactly(id, name) {
      const plant = { id: Number(id), name }
      const { data } = await createPlant(plant, options)
      return [CreatePlantBody.safeParse(plant).success, data]
    },
  }
}

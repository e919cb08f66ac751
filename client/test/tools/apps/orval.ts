import type { App, Service } from './app'
import { createPlant, getPlants } from './generated/orval/fetch'
import { createPlantBody, createPlantResponse, getPlantsQueryParams, getPlantsResponse } from './generated/orval/zod'

/** `orval` with `fetch` and zod: an id is a `number`, and its client has no place for another serializer. */
export function createApp({ token }: Service): App {
  const options = { headers: { authorization: `Bearer ${token}` } }

  const create: App['create'] = async (plant) => {
    const { status, data } = await createPlant(createPlantBody.parse(plant), options)
    return status === 200 ? createPlantResponse.parse(data) : data.error
  }

  return {
    create,
    async list(limit) {
      const { status, data } = await getPlants(getPlantsQueryParams.parse({ limit }), options)
      return status === 200 ? getPlantsResponse.parse(data) : data.error
    },
    createExactly: (id, name) => create({ id: Number(id), name }),
  }
}

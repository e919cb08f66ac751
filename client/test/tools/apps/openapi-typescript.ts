import createClient from 'openapi-fetch'
import { type App, type Service, writeExactly } from './app'
import type { components, paths } from './generated/openapi-typescript'

type NewPlant = components['schemas']['NewPlant']

/** `openapi-fetch` with the types of `openapi-typescript`: an id is a `number`, unless a serializer writes it. */
export function createApp({ baseUrl, token }: Service): App {
  const client = createClient<paths>({ baseUrl, headers: { authorization: `Bearer ${token}` } })

  return {
    async create(plant: NewPlant) {
      const { data, error } = await client.POST('/plants', { body: plant })
      return data ?? error.error
    },
    list: async () => (await client.GET('/plants', { params: { query: { limit: 2 } } })).data,
    async createExactly(id, name) {
      const body = { id: id as unknown as number, name }
      const { data, error } = await client.POST('/plants', { body, bodySerializer: writeExactly })
      return data ?? error.error
    },
  }
}

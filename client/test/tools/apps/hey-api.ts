import { type App, type Service, writeExactly } from './app'
import { createPlant, getPlants } from './generated/hey-api'
import { createClient } from './generated/hey-api/client'

/** `@hey-api/openapi-ts` with zod and transformers: an id is a `bigint`, which its own serializer writes as text. */
export function createApp({ baseUrl, token }: Service): App {
  const client = createClient({ baseUrl, auth: token })

  return {
    async create({ id, ...plant }) {
      const body = { id: BigInt(id), ...plant }
      const { data, error } = await createPlant({ client, body, bodySerializer: writeExactly })
      return data ?? readError(error)
    },
    list: async () => (await getPlants({ client, query: { limit: 2 } })).data,
    async createExactly(id, name) {
      const { error } = await createPlant({ client, body: { id, name } })
      const { data } = await createPlant({ client, body: { id, name }, bodySerializer: writeExactly })
      return [readError(error), data]
    },
  }
}

/** Returns the code of the service, or the message of the generated validator. */
function readError(error: unknown): unknown {
  const { error: code, message } = (error ?? {}) as { error?: number; message?: string }
  return code ?? message
}

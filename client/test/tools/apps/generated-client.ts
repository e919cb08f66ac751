/** An app with a client of `@hey-api/openapi-ts`, whose ids are bigints. It prints what it gets. */
import { createPlant, getPlants, type NewPlant } from './generated'
import { client } from './generated/client.gen'

const { rawJSON } = JSON as unknown as { rawJSON(text: string): unknown }
const [, , baseUrl = '', token = ''] = process.argv
client.setConfig({
  baseUrl,
  headers: { authorization: `Bearer ${token}` },
  // Its own writes a bigint as text.
  bodySerializer: (body) =>
    JSON.stringify(body, (_, value) => (typeof value === 'bigint' ? rawJSON(`${value}`) : value)),
})

async function create(body: NewPlant) {
  const { data, error } = await createPlant({ body })
  return data ?? error?.error
}

const seen = [
  await create({ id: 1n, name: '🌱 Ficus é', tag: '' }),
  await create({ id: -(2n ** 53n - 1n), name: '' }),
  await create({ id: 1n, name: 'Monstera' }),
  await create({ id: 2n ** 53n + 1n, name: 'above' }),
  await create({ id: 2n ** 53n, name: 'below' }),
  (await getPlants({ query: { limit: 2 } })).data,
]
console.log(JSON.stringify(seen))

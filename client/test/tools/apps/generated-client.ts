/** An app with `openapi-fetch` and the types of `openapi-typescript`. It prints what it gets. */
import process from 'node:process'
import createClient from 'openapi-fetch'
import type { components, paths } from './generated'

const [, , baseUrl = '', token = ''] = process.argv
const client = createClient<paths>({ baseUrl, headers: { authorization: `Bearer ${token}` } })

async function create(body: components['schemas']['NewPlant'], bodySerializer = JSON.stringify) {
  const { data, error } = await client.POST('/plants', { body, bodySerializer })
  return data ?? error.error
}

const seen = [
  await create({ id: 1, name: '🌱 Ficus é', tag: '' }),
  await create({ id: -(2 ** 53 - 1), name: '' }),
  await create({ id: 1, name: 'Monstera' }),
  // An id is a `number`, unless a serializer writes it.
  await create({ id: 0, name: 'above' }, () => '{"id":9007199254740993,"name":"above"}'),
  (await client.GET('/plants', { params: { query: { limit: 2 } } })).data,
]
console.log(JSON.stringify(seen))

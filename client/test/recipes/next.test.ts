/** The recipe for Next.js, built and served by Next.js. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { freePort } from '../../../test/helpers/free-port.ts'
import { startTestServer, type TestServer } from '../../../test/helpers/server/start-test-server.ts'
import { createPlantStoreClient, type PlantStoreClient } from '../../src/index.ts'
import { createRecipeApp, RECIPE_TIMEOUT } from '../helpers/recipe-app.ts'

const NEXT = 'next/dist/bin/next'

describe('Next.js', () => {
  const resources: AsyncDisposable[] = []
  let service: TestServer
  let client: PlantStoreClient
  let url: string
  beforeAll(async () => {
    service = await startTestServer()
    resources.push(service)
    client = createPlantStoreClient({ baseUrl: service.url, token: service.token })
    await client.createPlant({ id: 1, name: 'Ficus' })
    const app = await createRecipeApp(['Next.js'])
    await app.add('app/layout.tsx')
    const environment = { PLANT_STORE_URL: service.url, PLANT_STORE_TOKEN: service.token }
    await app.run(NEXT, ['build'], environment)
    const port = await freePort()
    url = `http://127.0.0.1:${port}`
    resources.push(await app.start(NEXT, ['start', '-H', '127.0.0.1', '-p', String(port)], port, environment))
  }, RECIPE_TIMEOUT)
  afterAll(async () => {
    for (const resource of resources.reverse()) await resource[Symbol.asyncDispose]()
  })

  test('a page has the list of now, and a list with revalidate that of the build', async () => {
    await client.createPlant({ id: 2, name: 'Aloe vera' })
    const page = await (await fetch(url)).text()
    expect(page.replaceAll('<!-- -->', '')).toMatch(/<p>2 plants<\/p><p>1 plants a minute ago<\/p><p>2 plants<\/p>/)
  })

  test('the route handler forwards the token of the request', async () => {
    const { token } = await service.createToken({ account: 'bob' })
    await client.createPlant({ id: 1, name: 'Orchid' }, { token })
    const list = async (authorization?: string) => {
      const response = await fetch(`${url}/api/plants`, { headers: { ...(authorization && { authorization }) } })
      return [response.status, response.status === 401 && !authorization ? undefined : await response.json()]
    }
    expect(await list(`Bearer ${token}`)).toEqual([200, [{ name: 'Orchid' }]])
    expect(await list('Bearer pst_unknown')).toEqual([401, expect.objectContaining({ error: 40102 })])
    expect(await list()).toEqual([401, undefined])
  })
})

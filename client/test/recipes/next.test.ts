/** The recipe for Next.js, built and served by Next.js. */
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { query } from '../../../test/helpers/database/sqlite.ts'
import { freePort } from '../../../test/helpers/free-port.ts'
import { startProxy } from '../../../test/helpers/network/proxy.ts'
import { startTestServer, type TestServer } from '../../../test/helpers/server/start-test-server.ts'
import { createPlantStoreClient, type PlantStoreClient } from '../../src/index.ts'
import { createRecipeApp, RECIPE_TIMEOUT } from '../helpers/recipe-app.ts'

const NEXT = 'next/dist/bin/next'

describe('Next.js', () => {
  const resources: AsyncDisposable[] = []
  let service: TestServer
  let client: PlantStoreClient
  let url: string
  let lists = 0
  beforeAll(async () => {
    service = await startTestServer()
    const count = (bytes: Buffer) => {
      if (bytes.toString().startsWith('GET /plants')) lists++
      return true
    }
    const proxy = await startProxy({ target: () => Number(new URL(service.url).port), request: count })
    resources.push(service, proxy)
    client = createPlantStoreClient({ baseUrl: service.url, token: service.token })
    await client.createPlant({ id: 1, name: 'Ficus' })
    const app = await createRecipeApp(['Next.js', 'Ids as text'])
    await app.add('app/layout.tsx')
    const environment = { PLANT_STORE_URL: `http://127.0.0.1:${proxy.port}`, PLANT_STORE_TOKEN: service.token }
    await app.run(NEXT, ['build'], environment)
    const port = await freePort()
    url = `http://127.0.0.1:${port}`
    resources.push(await app.start(NEXT, ['start', '-H', '127.0.0.1', '-p', String(port)], port, environment))
  }, RECIPE_TIMEOUT)
  afterAll(async () => {
    for (const resource of resources.reverse()) await resource[Symbol.asyncDispose]()
  })

  /** Returns the list items of a page, and the number of lists that were requested for it. */
  async function readPage(path: string): Promise<{ names: string[]; requests: number }> {
    const before = lists
    const page = await (await fetch(url + path)).text()
    return { names: [...page.matchAll(/<li>(.*?)<\/li>/g)].map(([, name = '']) => name), requests: lists - before }
  }

  /** Submits the form as a browser without JavaScript does, and returns where the response redirects to. */
  async function submit(fields: Record<string, string>): Promise<string | null> {
    const page = await (await fetch(`${url}/catalogue`)).text()
    const [, action = ''] = /name="(\$ACTION_ID_\w+)"/.exec(page) ?? []
    const body = new FormData()
    for (const [name, value] of Object.entries({ [action]: '', ...fields })) body.append(name, value)
    const init = { method: 'POST', body, headers: { origin: url }, redirect: 'manual' } as const
    return (await fetch(`${url}/catalogue`, init)).headers.get('location')
  }

  test('a page requests the list once, in however many components', async () => {
    expect(await readPage('/')).toEqual({ names: ['Ficus'], requests: 1 })
  })

  test('a list with revalidate is cached, until a form adds a plant with an exact id', async () => {
    await client.createPlant({ id: 2, name: 'Aloe vera' })
    expect(await readPage('/')).toEqual({ names: ['Ficus', 'Aloe vera'], requests: 1 })
    expect(await readPage('/catalogue')).toEqual({ names: ['Ficus'], requests: 0 })

    expect(await submit({ id: '9007199254740993', name: 'Monstera' })).toBeNull()
    expect((await readPage('/catalogue')).names).toEqual(['Ficus', 'Aloe vera', 'Monstera'])
    expect((await readPage('/catalogue')).requests).toBe(0)
    const rows = query(fileURLToPath(service.databaseUrl), 'SELECT "id" FROM "Plant"') as { id: string }[]
    expect(rows.map(({ id }) => id)).toContain('9007199254740993')
  })

  test('a form with an id that is not an int64 sends nothing', async () => {
    expect(await submit({ id: '9223372036854775808', name: 'Monstera' })).toBe('/catalogue?error=id')
    expect(await submit({ id: '9007199254740993', name: 'Ficus' })).toBe('/catalogue?error=failed')
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

/** A page that calls its own origin, where a proxy adds the token. */
import { build } from 'esbuild'
import { chromium } from 'playwright-core'
import { expect, test } from 'vitest'
import { browserOptions, hasBrowser } from '../../../test/helpers/browser.ts'
import { createFakePlantStore } from '../../src/testing/index.ts'
import { startTinyServer, type TinyServer } from '../helpers/tiny-server.ts'

const MINUTE = 60_000

const SCRIPT = `
  import { createPlantStoreClient } from './src/index.ts'
  globalThis.run = async (baseUrl) => {
    const client = createPlantStoreClient({ baseUrl, token: false })
    const plant = await client.createPlant({ id: 9007199254740993n, name: 'Ficus 🌱' })
    const names = []
    for await (const { name } of client.iterate.getPlants({ limit: 1 })) names.push(name)
    return [plant.name, ...names]
  }`

/** Serves a page, and under `/api` a plant store whose token the page does not know. */
async function startProxy(): Promise<TinyServer> {
  const bundle = await build({
    stdin: { contents: SCRIPT, resolveDir: new URL('../..', import.meta.url).pathname, loader: 'ts' },
    bundle: true,
    write: false,
    conditions: ['@plant-store/source'],
  })
  const store = createFakePlantStore({ baseUrl: 'http://plant-store.test/api' })
  store.add([{ id: 1, name: 'Aloe' }])
  return await startTinyServer(async (response, { method, url, headers, body }) => {
    if (!url.startsWith('/api/')) {
      const page = `<!doctype html><meta charset="utf-8"><script>${bundle.outputFiles[0]?.text}</script>`
      return response.writeHead(200, { 'content-type': 'text/html' }).end(page)
    }
    const sent = {
      authorization: `Bearer ${store.token}`,
      'content-type': headers['content-type'] ?? '',
    }
    const init = { method, headers: sent, ...(body && { body }) }
    const stored = (await store.fetch(`http://plant-store.test${url}`, init)) as Response
    return response.writeHead(stored.status, Object.fromEntries(stored.headers)).end(await stored.text())
  })
}

test.skipIf(!hasBrowser('a path as the base URL'))(
  'in Chromium, requests go to a path of the page’s origin without authorization',
  { timeout: MINUTE },
  async () => {
    await using proxy = await startProxy()
    const browser = await chromium.launch(browserOptions)
    try {
      const page = await browser.newPage()
      await page.goto(`${proxy.url}/shop/page?a=1#b`)
      expect(await page.evaluate(`run('/api')`)).toEqual(['Ficus 🌱', 'Aloe', 'Ficus 🌱'])
      const requests = proxy.requests.filter(({ url }) => url.startsWith('/api/'))
      expect(requests.map(({ method, url }) => `${method} ${url}`)).toEqual([
        'POST /api/plants',
        'GET /api/plants?limit=1',
        'GET /api/plants?limit=1&cursor=fake-1',
      ])
      for (const { headers } of requests) {
        expect(headers.authorization).toBeUndefined()
        expect(headers['user-agent']).toMatch(/^Mozilla\//)
      }
    } finally {
      await browser.close()
    }
  },
)

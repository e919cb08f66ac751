/** The recipes for Node.js: a proxy, and ids as text. */
import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { isLong } from '../../../test/helpers/long-tests.ts'
import { run } from '../../../test/helpers/packed-package.ts'
import { explainSkipped, findRuntime, noteAbsence } from '../../../test/helpers/runtimes.ts'
import { startTestServer, type TestServer } from '../../../test/helpers/server/start-test-server.ts'
import { startForwardProxy } from '../helpers/forward-proxy.ts'
import { createRecipeApp, RECIPE_TIMEOUT, type RecipeApp } from '../helpers/recipe-app.ts'

const newNode = findRuntime('node-24/bin/node')

describe.runIf(isLong)('on Node.js', () => {
  let app: RecipeApp
  let service: TestServer
  let environment: Record<string, string>
  beforeAll(async () => {
    service = await startTestServer()
    environment = { PLANT_STORE_URL: service.url, PLANT_STORE_TOKEN: service.token }
    await service.post('{"id":1,"name":"Orchid"}')
    app = await createRecipeApp(['A proxy', 'Ids as text'])
    await app.run('typescript/bin/tsc', ['--noEmit', 'false', '--outDir', 'dist'])
  }, RECIPE_TIMEOUT)
  afterAll(() => service.close())
  afterAll(explainSkipped)

  const runFile = (name: string, added: Record<string, string> = {}, node = process.execPath) =>
    run(node, [path.join('dist', name)], app.folder, { ...environment, ...added })

  test('undici sends requests through a proxy', { timeout: RECIPE_TIMEOUT }, async () => {
    await using proxy = await startForwardProxy()
    expect(await runFile('proxy.js', { HTTP_PROXY: proxy.url })).toBe("[ { name: 'Orchid' } ]\n")
    expect(proxy.targets).toHaveLength(1)
    expect(proxy.targets[0]).toContain(new URL(service.url).host)
    await runFile('proxy.js', { HTTP_PROXY: proxy.url, NO_PROXY: '127.0.0.1' })
    expect(proxy.targets).toHaveLength(1)
  })

  noteAbsence('Node.js 24', newNode)
  test.skipIf(!newNode)('Node.js 24 does so by itself', { timeout: RECIPE_TIMEOUT }, async () => {
    await using proxy = await startForwardProxy()
    const program = `import { createPlantStoreClient } from '@plant-store/client'
console.log(await createPlantStoreClient().getPlants())`
    await writeFile(path.join(app.folder, 'dist/plain.js'), program)
    const settings = { HTTP_PROXY: proxy.url, NODE_USE_ENV_PROXY: '1' }
    expect(await runFile('plain.js', settings, newNode)).toBe("[ { name: 'Orchid' } ]\n")
    expect(proxy.targets).toHaveLength(1)
  })

  test('an id survives JSON', { timeout: RECIPE_TIMEOUT }, async () => {
    const { token } = await service.createToken({ account: 'ids' })
    const output = await runFile('ids.js', { PLANT_STORE_TOKEN: token })
    expect(output).toBe('{"id":"9007199254740993","name":"Ficus"}\nundefined undefined -1n\n')
  })

  test('parseId accepts every int64 and nothing else', async () => {
    const { parseId } = await import(pathToFileURL(path.join(app.folder, 'dist/lib/parse-id.js')).href)
    const min = -(2n ** 63n)
    fc.assert(fc.property(fc.bigInt({ min, max: -min - 1n }), (id) => parseId(String(id)) === id))
    for (const text of ['', ' 1', '1 ', '+1', '0x10', '1.0', '1e3', '١', '1\n', String(min - 1n), String(-min)]) {
      expect(parseId(text), JSON.stringify(text)).toBeUndefined()
    }
  })
})

/** Calls of operations that the contract of the plants does not have: those that no client may repeat, and many. */
import { fileURLToPath } from 'node:url'
import { contract, ErrorSchema, Int64Schema } from '@plant-store/contract'
import { describe, expect, test } from 'vitest'
import * as z from 'zod'
import { bundle } from '../helpers/bundle.ts'
import { createSdk } from '../helpers/generated-sdk.ts'
import { breakOff, type Handler, respondError, startTinyServer } from '../helpers/tiny-server.ts'

const putBeds = {
  ...{ method: 'PUT', path: '/beds', metadata: { scope: 'write' } },
  body: z.object({ id: Int64Schema }),
  responses: { 200: z.object({}), 401: ErrorSchema, 503: ErrorSchema },
}
const addBeds = { ...putBeds, method: 'POST', metadata: { scope: 'write', idempotent: false } }
const removeBeds = { ...addBeds, method: 'DELETE', responses: { 200: z.object({}), 404: ErrorSchema } }
const grown = { putBeds, addBeds, removeBeds }

describe('an operation that is not safe to repeat is sent again only if it certainly was not processed', async () => {
  const sdk = await createSdk(grown)

  test.each<[title: string, attempts: number, Handler, options?: object]>([
    ['a 408', 2, respondError(40800)],
    ['a 429', 2, respondError(42900)],
    ['a 401 of a token function', 2, respondError(40102), { token: () => 'pst_test', retries: 0 }],
    ['a 500', 1, respondError(50000)],
    ['a 503', 1, respondError(50300)],
    ['a connection that breaks before the response', 1, (response) => response.destroy()],
    ['a connection that breaks in the response', 1, breakOff],
    ['JSON that is cut', 1, (response) => response.writeHead(200, { 'content-type': 'application/json' }).end('{')],
    ['no response in time', 1, () => undefined, { timeout: 1000 }],
  ])('after %s it is sent %d times', async (_, attempts, handler, own) => {
    await using server = await startTinyServer(handler)
    const { safe } = sdk.createClient({ baseUrl: server.url, token: 'pst_test', retries: 1, ...own })
    const calls = [safe['addBeds']?.({ id: 1 }), safe['removeBeds']?.({ id: 1 })]
    expect(await Promise.all(calls)).toMatchObject([{ error: { attempts } }, { error: { attempts } }])
  })
})

test('a bundle has less than 6.2 kB, and at most 100 bytes more for each further operation', async () => {
  const operations = { createPlant: contract.createPlant, getPlants: contract.getPlants }
  const sdks = await Promise.all([operations, { ...operations, ...grown }].map(createSdk))
  const bundles = sdks.map(({ folder }) => bundle("export { createPlantStoreClient } from './src/index.ts'", folder))
  const [size = 0, larger = 0] = (await Promise.all(bundles)).map((each) => each.size)
  console.log(`a bundle of two operations: ${size} B gzip, of ${Object.keys(grown).length} more: ${larger} B`)
  expect(size).toBeLessThan(6200)
  expect(larger - size).toBeLessThanOrEqual(100 * Object.keys(grown).length)
})

test('both entries can be bundled for browsers that have no bigint literals', async () => {
  const entries = ['index', 'testing/index'].map((name) => `export * from './src/${name}.ts'`)
  // esbuild does not warn about what is below `node_modules`, where the SDKs above are.
  const client = fileURLToPath(new URL('../..', import.meta.url))
  expect((await bundle(entries.join('\n'), client, 'es2017')).warnings).toEqual([])
})

/** Calls that the contract of the plants does not have: with lists of int64s, and no permission to repeat. */
import path from 'node:path'
import { contract, ErrorSchema, Int64Schema } from '@plant-store/contract'
import { build } from 'esbuild'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import * as z from 'zod'
import { freePort } from '../../../test/helpers/free-port.ts'
import { run } from '../../../test/helpers/packed-package.ts'
import { explainSkipped, noteAbsence } from '../../../test/helpers/runtimes.ts'
import { bundle } from '../helpers/bundle.ts'
import { createSdk, expectToCompile, type Sdk } from '../helpers/generated-sdk.ts'
import { runtimes } from '../helpers/runtimes.ts'
import { breakOff, type Handler, sendError, startTinyServer } from '../helpers/tiny-server.ts'

const JSON_TYPE = { 'content-type': 'application/json' }
const Beds = z.object({ ids: z.array(z.string()) })

const putBeds = {
  ...{ method: 'PUT', path: '/beds', metadata: { scope: 'write' } },
  body: z.object({ ids: z.array(Int64Schema) }),
  responses: { 200: Beds, 401: ErrorSchema, 503: ErrorSchema },
}
const others = { ...putBeds, path: '/more-beds', metadata: { scope: 'write', idempotent: false } }
const unsafe = {
  addBeds: { ...others, method: 'POST' },
  changeBeds: { ...others, method: 'PATCH' },
  removeBeds: { ...others, method: 'DELETE', responses: { 200: Beds, 404: ErrorSchema } },
}
const grown = { putBeds, ...unsafe }

const options = { baseUrl: 'http://beds.test', token: 'pst_test' }
let sdk: Sdk
beforeAll(async () => {
  sdk = await createSdk(grown)
})
afterAll(explainSkipped)

test('a contract without paged operations compiles', () => expectToCompile(sdk.folder))

describe('an operation that is not safe to repeat is sent again only if it certainly was not processed', () => {
  /** Calls the operations that are not safe to repeat, and returns the attempts of each. */
  async function attemptsOf(own: object): Promise<number[]> {
    const { raw } = sdk.createClient({ ...options, retries: 1, ...own })
    const calls = Object.keys(unsafe).map((name) => raw[name]?.({ ids: [] }).catch((error: unknown) => error))
    return (await Promise.all(calls)).map((error) => (error as { attempts: number }).attempts)
  }
  const after = (code: number): [string, Handler] => [`a ${code}`, (response) => sendError(response, code)]
  test.each<[title: string, Handler, attempts: number, options?: object]>([
    ...[40800, 42900].map((code): [string, Handler, number] => [...after(code), 2]),
    // A token that is rejected is asked for once more.
    [...after(40102), 2, { token: () => 'pst_test', retries: 0 }],
    ...[50000, 50300].map((code): [string, Handler, number] => [...after(code), 1]),
    ['a connection that breaks before the response', (response) => response.destroy(), 1],
    ['a connection that breaks in the response', breakOff, 1],
    ['no response in time', () => undefined, 1, { timeout: 1000 }],
    // No test may depend on a name server, so these are the errors of Node.js as they are.
    ...['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN'].map((code): [string, Handler, number, object] => {
      const cause = Object.assign(new Error(code), { code })
      return [code, () => undefined, 2, { fetch: () => Promise.reject(new TypeError('fetch failed', { cause })) }]
    }),
  ])('after $0 it is sent $2 times', async (_, handler, attempts, own) => {
    await using server = await startTinyServer(handler)
    expect(await attemptsOf({ baseUrl: server.url, ...own })).toEqual([attempts, attempts, attempts])
  })

  test('an error for tests says the same about a retry as the client', async () => {
    const { createApiError } = await import(path.join(sdk.folder, 'src/testing/index.ts'))
    const names = [['unavailable', 'putBeds'], ['unavailable', 'addBeds'], ['tooManyRequests', 'addBeds']] // biome-ignore format: one line
    const errors = names.map(([name, operation]) => createApiError({ name, operation }))
    expect(errors.map(({ retryable }) => retryable)).toEqual([true, false, true])
  })
})

describe('every int64 is sent exactly, and a closed port is recognized', () => {
  const script = `
    import { createPlantStoreClient } from './src/index.ts'

    const [baseUrl, closedUrl] = process.argv.slice(2)
    const powers = Array.from({ length: 63 }, (_, bits) => 2n ** BigInt(bits))
    const near = powers.flatMap((id) => [id - 1n, id, id + 1n, -id - 1n, -id, 1n - id])
    const ids = [...near, -(2n ** 63n), 2n ** 63n - 1n]
    const beds = await createPlantStoreClient({ baseUrl, token: 'pst_test' }).putBeds({ ids })
    const { error } = await createPlantStoreClient({ baseUrl: closedUrl, token: 'pst_test' }).safe.addBeds({ ids })
    console.log(ids.length, ids.every((id, index) => beds.ids[index] === String(id)), error.kind, error.attempts)`
  for (const [name, program, parameters] of runtimes) {
    noteAbsence(name, program)

    test.skipIf(!program)(`on ${name}`, async () => {
      await using server = await startTinyServer((response, { body }) => {
        response.writeHead(200, JSON_TYPE).end(body.replace(/-?\d+/g, '"$&"'))
      })
      const outfile = path.join(sdk.folder, 'script.mjs')
      const stdin = { contents: script, resolveDir: sdk.folder }
      await build({ stdin, bundle: true, format: 'esm', platform: 'neutral', outfile })
      const urls = [server.url, `http://127.0.0.1:${await freePort()}`]
      expect(await run(String(program), [...parameters, outfile, ...urls], sdk.folder)).toBe('380 true connection 3\n')
    })
  }
})

test('a bundle has less than 6 kB, and at most 100 bytes more for each further operation', async () => {
  const { createPlant, getPlants } = contract
  const contents = `export { createPlantStoreClient } from './src/index.ts'`
  const [own, larger] = await Promise.all(
    [
      { createPlant, getPlants },
      { createPlant, getPlants, ...grown },
    ].map(createSdk),
  )
  const sizes = [await bundle(contents, String(own?.folder)), await bundle(contents, String(larger?.folder))]
  const [size = 0, grownSize = 0] = sizes.map((each) => each.size)
  console.log(`a bundle of two operations: ${size} B gzip, of ${Object.keys(grown).length} more: ${grownSize} B`)
  expect(size).toBeLessThan(6000)
  expect(grownSize - size).toBeLessThanOrEqual(100 * Object.keys(grown).length)
})

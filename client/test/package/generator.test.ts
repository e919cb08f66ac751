/** The generator adds everything in the contract to the SDK, or rejects it. */
import { readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { contract, ErrorSchema, PlantSchema } from '@plant-store/contract'
import { beforeAll, describe, expect, test } from 'vitest'
import * as z from 'zod'
import { LIBRARY_NAMES } from '../../generator/types.ts'
import { RequestError } from '../../src/index.ts'
import { failureOf } from '../helpers/failure-of.ts'
import { createProject, expectToCompile, generateFrom } from '../helpers/generated-sdk.ts'
import { sendJson, startTinyServer } from '../helpers/tiny-server.ts'

const client = fileURLToPath(new URL('../..', import.meta.url))

test('the generated files are up to date', async () => {
  for (const [name, text] of Object.entries(generateFrom(contract))) {
    expect(await readFile(path.join(client, 'src/generated', name), 'utf8'), `${name}: run npm run generate`).toBe(text)
  }
})

const int64 = z.bigint().meta({ override: { type: 'integer', format: 'int64' } })

/** An operation with a path parameter and a query, and a paged one with text in its path. */
const addedOperations = {
  getPlant: {
    method: 'GET',
    path: '/plants/:id',
    summary: 'Get Plant',
    description: 'Returns one plant.',
    pathParams: z.object({ id: z.coerce.bigint().meta({ description: 'Identification number of the plant.' }) }),
    query: z.object({
      language: z
        .string()
        .optional()
        .meta({ description: 'The language of the name (BCP 47).', examples: ['de'] }),
      scale: z.coerce.number().meta({ description: 'The scale of the picture; 1 is full size.' }),
    }),
    responses: { 200: PlantSchema, 404: ErrorSchema, 500: ErrorSchema },
    metadata: { scope: 'read' },
  },
  getTaggedPlants: {
    method: 'GET',
    path: '/tags/:tag/plants',
    pathParams: z.object({ tag: z.string() }),
    query: z.object({ limit: z.coerce.number().int().optional(), cursor: z.string().optional() }),
    responses: { 200: z.array(PlantSchema), 500: ErrorSchema },
    metadata: { scope: 'read', paged: true },
  },
}

const program = `
import { createPlantStoreClient, type GetPlantError, type GetPlantPath, type GetPlantQuery, type Plant } from './index.ts'

export const client = createPlantStoreClient({ baseUrl: 'http://127.0.0.1', token: 'pst_test' })

export const direct: (path: GetPlantPath, query: GetPlantQuery) => Promise<Plant> = client.getPlant
export async function calls() {
  const plant: Plant = await client.getPlant({ id: 1n }, { scale: 1, language: undefined }, { retries: 0 })
  const { data } = await client.raw.getPlant({ id: 1 }, { scale: 0.5 })
  const result = await client.safe.getPlant({ id: 1 }, { scale: 1, language: 'de' })
  if (result.error?.kind === 'api') result.error.status satisfies 404 | 500
  for await (const tagged of client.iterate.getTaggedPlants({ tag: 'aroid' })) tagged satisfies Plant
  const page = await client.raw.getTaggedPlants({ tag: 'aroid' }, { limit: 2 })
  return [plant, data, page.nextCursor satisfies string | undefined]
}
export const advice = (error: GetPlantError) => error.kind

// @ts-expect-error: the path parameter is required
client.getPlant({}, { scale: 1 })
// @ts-expect-error: the query is required
client.getPlant({ id: 1 })
// @ts-expect-error: an id is not text
client.getPlant({ id: '1' }, { scale: 1 })
// @ts-expect-error: no such query parameter
client.getPlant({ id: 1 }, { scale: 1, colour: 'green' })
// @ts-expect-error: the operation is not paged
client.iterate.getPlant
`

test('a contract without paged operations compiles', async () => {
  const folder = await createProject(generateFrom({ createPlant: contract.createPlant }))
  await expectToCompile(folder)
})

describe('an operation added to the contract', () => {
  let folder: string
  let generated: Record<string, string>
  beforeAll(async () => {
    generated = generateFrom({ ...contract, ...addedOperations })
    folder = await createProject(generated)
    await writeFile(path.join(folder, 'src/program.ts'), program)
  })

  test('has its types, however it is called', async () => {
    await expectToCompile(folder)
  })

  test('has its descriptions and examples', () => {
    expect(generated['operations.ts']).toContain('Returns one plant.')
    expect(generated['types.ts']).toMatch(/The language of the name \(BCP 47\)\.\s+\*\s+\* @example "de"/)
  })

  test('can be called', async () => {
    await using server = await startTinyServer((response, { url }) =>
      sendJson(response, 200, url.includes('/tags/') ? [{ name: url }] : { name: url }, {
        ...(url.includes('/tags/') && !url.includes('cursor') && { link: '<?cursor=b>; rel="next"' }),
      }),
    )
    const { createPlantStoreClient } = await import(path.join(folder, 'src/index.ts'))
    const added = createPlantStoreClient({ baseUrl: `${server.url}/shop`, token: 'pst_test', retries: 0 })
    await added.getPlant({ id: 9007199254740993n }, { language: 'de AT&', scale: 0.5 })
    await added.safe.getPlant({ id: -1 }, { scale: 1 })
    expect((await added.raw.getTaggedPlants({ tag: 'a/b ?ü' })).nextCursor).toBe('b')
    for await (const _ of added.iterate.getTaggedPlants({ tag: 'aroid' }, { limit: 2 }));
    expect(server.requests.map(({ url }) => url.replace('/shop', ''))).toEqual([
      '/plants/9007199254740993?scale=0.5&language=de%20AT%26',
      '/plants/-1?scale=1',
      '/tags/a%2Fb%20%3F%C3%BC/plants',
      '/tags/aroid/plants?limit=2',
      '/tags/aroid/plants?cursor=b',
    ])
  })

  test('rejects invalid values for its path and query', async () => {
    const { createPlantStoreClient } = await import(path.join(folder, 'src/index.ts'))
    const added = createPlantStoreClient({ baseUrl: 'http://127.0.0.1:1', token: 'pst_test' })
    const rejections = [
      [added.getPlant({ id: 2 ** 53 }, { scale: 1 }), 'id: must be a bigint or a safe integer'],
      [added.getPlant({}, { scale: 1 }), 'id: is required'],
      [added.getPlant(undefined, { scale: 1 }), 'path: must be an object'],
      [added.getPlant({ id: 1 }), 'scale: is required'],
      [added.getPlant({ id: 1 }, { scale: Number.NaN }), 'scale: must be a number'],
      [added.getTaggedPlants({ tag: '..' }), 'tag: must not be empty, "." or ".."'],
      [added.getTaggedPlants({ tag: '.' }), 'tag: must not be empty, "." or ".."'],
      [added.getTaggedPlants({ tag: '' }), 'tag: must not be empty, "." or ".."'],
    ]
    for (const [call, reason] of rejections) {
      expect((await failureOf(call, RequestError)).message).toContain(reason)
    }
  })
})

test('the names that the library exports are reserved', async () => {
  const index = await readFile(path.join(client, 'src/index.ts'), 'utf8')
  const lists = [...index.matchAll(/export (?:type )?\{([^}]*)\}/g)].flatMap(([, list = '']) => list.split(','))
  const names = lists.map((entry) => entry.replace('type ', '').trim()).filter((name) => /^[A-Z]/.test(name))
  expect([...LIBRARY_NAMES].sort()).toEqual(names.sort())
})

test('an integer with a bound that excludes it is an integer', () => {
  const body = z.object({ a: z.int().positive(), b: z.int().gt(0).lt(100), c: z.number().int().negative() })
  const route = {
    method: 'POST',
    path: '/x',
    body,
    responses: { 200: body, 500: ErrorSchema },
    metadata: { scope: 'read' },
  }
  const generated = generateFrom({ createX: route })
  expect(generated['routes.ts']).toContain('object({ a: integer, b: integer, c: integer })')
})

describe('the generator rejects', () => {
  const route = { method: 'GET', path: '/x', responses: { 200: PlantSchema }, metadata: { scope: 'read' } }
  const Tree = z
    .object({
      get branches(): z.ZodType {
        return z.array(Tree)
      },
    })
    .meta({ id: 'Tree' })

  test.each([
    [
      'a place that is an int64 in one alternative and another number in the other',
      { getX: { ...route, responses: { 200: z.object({ a: z.union([int64, z.number()]) }) } } },
      'getX: response 200.a: one alternative of a union has an int64 where another has',
    ],
    [
      'an error with another body',
      { getX: { ...route, responses: { 200: PlantSchema, 404: z.object({ reason: z.string() }) } } },
      'getX: the status 404: an error must have the body ErrorSchema',
    ],
    ['an operation with a reserved name', { safe: route }, 'safe: the SDK uses this name'],
    [
      'an operation whose error has the name of another one',
      { declared: route },
      'DeclaredError: the SDK or JavaScript',
    ],
    ['an operation whose error would be hidden', { api: route }, 'ApiError: the SDK or JavaScript uses this name'],
    [
      'a record whose names are a component',
      { getX: { ...route, responses: { 200: z.record(z.enum(['a', 'b']).meta({ id: 'Letter' }), z.string()) } } },
      'getX: response 200: the names of a record are text, or a z.enum() without an id',
    ],
    [
      'a field that every object has',
      { getX: { ...route, responses: { 200: z.object({ constructor: z.string().optional() }) } } },
      'getX: response 200.constructor: this name is not supported',
    ],
    ['a contract without operations', {}, 'The contract: has no operation; add one'],
    [
      'a component that contains itself, with the operation',
      { getX: { ...route, responses: { 200: Tree } } },
      'getX: Tree contains itself, which is not supported',
    ],
    [
      'pages of an object',
      { getX: { ...route, metadata: { scope: 'read', paged: true } } },
      'getX: only a list can be paged',
    ],
    [
      'a union in a query',
      { getX: { ...route, query: z.object({ a: z.union([z.string(), z.number()]) }) } },
      'getX: query.a: must be text, a number, a boolean',
    ],
  ])('%s', (_, operations, reason) => {
    expect(() => generateFrom(operations)).toThrow(reason)
  })
})

/**
 * What a contract can say, in operations as they may be added: each construct is generated completely, and works, or is
 * rejected with the place and the fix.
 */
import { readdir, readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import {
  ErrorSchema,
  Int64Schema,
  Int64TextSchema,
  NewPlantSchema,
  contract as ownContract,
  plantFields,
  TextSchema,
} from '@plant-store/contract'
import { initContract } from '@ts-rest/core'
import { describe, expect, test } from 'vitest'
import * as z from 'zod'
import { generate } from '../../generator/generate.ts'
import { bundle } from '../helpers/bundle.ts'
import { createSdk, expectToCompile } from '../helpers/generated-sdk.ts'
import { breakOff, type Handler, respondError, startTinyServer } from '../helpers/tiny-server.ts'

const c = initContract()
const Empty = z.object({})
const Page = z.codec(z.string().regex(/^\d+$/), z.int(), { decode: Number, encode: String })
const Even = z.int().refine((value) => value % 2 === 0)
const BIG = 9007199254740993n

const shown = { note: TextSchema.nullish(), parent: Int64Schema.nullish(), next: Int64Schema.nullable() }
const PlantWithId = z.object({ ...plantFields, ...shown, seen: z.int() }).meta({ id: 'PlantWithId' })
const PlantChange = z
  .object({
    name: TextSchema.min(2).max(9).optional(),
    code: TextSchema.regex(/^a/).meta({ pattern: '^a' }).optional(),
    mail: z.email().optional(),
    size: z.int().min(1).max(8).optional(),
    price: z.number().min(0.5).optional(),
    count: Even.meta({ description: 'An even number.' }).optional(),
    isOld: z.boolean().optional(),
    ...shown,
  })
  .meta({ id: 'PlantChange' })
const dryRun = z.object({ dryRun: z.stringbool().optional() })
const TallPlant = NewPlantSchema.extend({ height: z.int().optional() }).meta({ id: 'TallPlant' })
const get = { method: 'GET', path: '/beds', responses: { 200: Empty }, metadata: { scope: 'read' } }
const post = { ...get, method: 'POST', metadata: { scope: 'write', idempotent: true } }
const inPath = { path: '/plants/:id', pathParams: z.object({ id: Int64TextSchema.meta({ description: 'The id.' }) }) }
const query = z.object({ search: TextSchema, page: Page.optional(), isDryRun: z.stringbool() })
const grown = {
  // Optional fields, which are added anywhere, change no call.
  createPlant: { ...ownContract.createPlant, query: dryRun, body: TallPlant },
  getPlants: { ...ownContract.getPlants, query: ownContract.getPlants.query.extend(dryRun.shape) },
  getPlant: { ...get, ...inPath, responses: { 200: PlantWithId, 404: ErrorSchema } },
  changePlant: { ...post, ...inPath, method: 'PATCH', query, body: PlantChange, responses: { 200: PlantWithId } },
  putPlant: { ...post, ...inPath, method: 'PUT', body: NewPlantSchema, responses: { 204: c.noBody() } },
  removePlant: { ...post, ...inPath, method: 'DELETE', responses: { 204: c.noBody() } },
  countPlants: { ...get, path: '/plants/count', responses: { 200: z.object({ count: z.int() }) } },
  listBed: { ...get, path: '/beds.old/:name', pathParams: z.object({ name: TextSchema }), responses: { 200: z.array(PlantWithId) } }, // biome-ignore format: one line
  addBeds: { ...post, body: c.noBody(), metadata: { scope: 'write', idempotent: false } },
  removeBeds: { ...get, method: 'DELETE', responses: { 200: Empty, 404: ErrorSchema }, metadata: { scope: 'write', idempotent: false } }, // biome-ignore format: one line
}
const sdk = await createSdk(grown)
const received = `{"id":9223372036854775807,"name":"\\"id\\":${BIG}","parent":null,"next":-9223372036854775808,"seen":${BIG},"constructor":{"id":1}}`
const plant = { id: 2n ** 63n - 1n, name: `"id":${BIG}`, parent: null, next: -(2n ** 63n), seen: 2 ** 53, constructor: { id: 1 } } // biome-ignore format: one line
const { createFakePlantStore } = await import(path.join(sdk.folder, 'src/testing/index.ts'))
const store = createFakePlantStore()
const client = sdk.createClient(store)

test('the generated files of this package are up to date, and no other is there', async () => {
  const folder = fileURLToPath(new URL('../../src/generated/', import.meta.url))
  const files = (await readdir(folder)).map(async (name) => [name, await readFile(folder + name, 'utf8')])
  expect(Object.fromEntries(await Promise.all(files)), 'run npm run generate').toEqual(generate(ownContract))
})

/** An app that was written before fields were added. */
const app = `
import { createPlantStoreClient } from './index.ts'
import type { GetPlantsInput, NewPlant } from './released-types.ts'
const client = createPlantStoreClient()
export const calls = (plant: NewPlant, query: GetPlantsInput) =>
  [client.createPlant(plant, { timeout: 5 }), client.getPlants(query, {}), client.getPlants()]`

test('all of it compiles, without paged operations, and with calls that were written before', async () => {
  await writeFile(path.join(sdk.folder, 'src/released-types.ts'), String(generate(ownContract)['types.ts']))
  await writeFile(path.join(sdk.folder, 'src/app.ts'), app)
  await expectToCompile([sdk.folder, (await createSdk({ get })).folder])
})

test.each([
  'interface PlantChange { name?: string | undefined code?: string | undefined /** Format: email. */ mail?: string | undefined',
  'size?: number | undefined price?: number | undefined /** An even number. */ count?: number | undefined',
  'isOld?: boolean | undefined note?: string | null | undefined',
  'or decimal digits as text. @example 1 */ parent?: bigint | number | string | null | undefined',
  '@example 1 */ parent?: bigint | null | undefined /** @example 1 */ next: bigint | null seen: number }',
  'interface ChangePlantInput { /** The id. The SDK takes a bigint, a safe integer, or decimal digits as text. */ id: bigint | number | string search: string page?: number | undefined isDryRun: boolean name?',
  'changePlant(input: ChangePlantInput, options?: CallOptions): Promise<PlantWithId>',
  'putPlant(input: NewPlant, options?: CallOptions): Promise<undefined>',
  'countPlants(input?: CountPlantsInput, options?: CallOptions): Promise<{ count: number }>',
  'listBed(input: ListBedInput, options?: CallOptions): Promise<PlantWithId[]>',
  'may have been processed: check before you send it again. The client retries it only if it certainly was not processed. */ addBeds(',
])('the SDK has %s', (part) => {
  // Comments are wrapped.
  const text = Object.values(generate(grown)).join('\n')
  expect(text.replace(/(\s+\*(?!\/))+\s*|\s+/g, ' ')).toContain(part)
})

test.each<[name: string, input: object | undefined, path: string, body: string, received: string, data?: unknown]>([
  ['getPlant', { id: '-01' }, '/plants/-1', '', received, plant],
  [
    'changePlant',
    { id: BIG, search: 'a&b ü', isDryRun: true, name: 'a"b\\u00001', isOld: false, note: null, parent: '-9223372036854775808', next: BIG }, // biome-ignore format: one line
    `/plants/${BIG}?search=a%26b%20%C3%BC&isDryRun=true`,
    `{"name":"a\\"b\\\\u00001","isOld":false,"note":null,"parent":-9223372036854775808,"next":${BIG}}`,
    received,
    plant,
  ],
  ['putPlant', { id: BIG, name: 'Fig' }, `/plants/${BIG}`, `{"id":${BIG},"name":"Fig"}`, ''],
  ['removePlant', { id: 1 }, '/plants/1', '', ''],
  ['listBed', { name: 'a/b ü' }, '/beds.old/a%2Fb%20%C3%BC', '', `[${received}]`, [plant]],
  ['addBeds', undefined, '/beds', '', '{}', {}],
])('%s sends what the contract says, and returns it exactly', async (name, input, target, body, received, data) => {
  store.failNext({ status: received ? 200 : 204, body: received })
  expect(await client[name]?.(input)).toEqual(data)
  const { method } = grown[name as keyof typeof grown]
  expect(store.requests.at(-1)).toMatchObject({ method, url: store.baseUrl + target, body })
})

test.each(['', '.', '..'])('a path that would be another one with "%s" is not sent', async (name) => {
  await expect(client['listBed']?.({ name })).rejects.toThrow('name: must not be')
})

test('the fake checks what the contract says of a field, takes null and int64s, and responds with them', async () => {
  const { handlers } = await import(path.join(sdk.folder, 'src/testing/operations.ts'))
  handlers.changePlant = ({ search: _, isDryRun: __, ...body }: Record<string, unknown>) => ({ body, unused: {} })
  handlers.countPlants = () => ({ body: { count: 3 }, unused: {} })
  expect(await client['countPlants']?.(), 'not that of `/plants/:id`').toEqual({ count: 3 })
  const change = (input: object) =>
    client['changePlant']?.({ id: BIG, search: '', isDryRun: true, next: null, ...input })
  const valid = { name: '🪴', code: 'ab', mail: 'ada@example.com', size: 8, price: 0.5, isOld: true, parent: BIG }
  for (const each of [{ parent: null, note: null }, valid])
    expect(await change(each)).toEqual({ id: BIG, next: null, ...each })
  const invalid: [input: object, ...fields: string[]][] = [
    [{ name: 'a', code: 'ba', mail: 'ada' }, 'name', 'code', 'mail'],
    [{ name: '0123456789', size: 9, price: 0.4 }, 'name', 'size', 'price'],
    [{ size: 0, isOld: 1, note: [] }, 'size', 'isOld', 'note'],
  ]
  for (const [input, ...names] of invalid) {
    const issues = names.map((path) => ({ path, message: expect.stringMatching(/^must be an? /) }))
    await expect(change(input)).rejects.toMatchObject({ code: 40002, issues })
  }
  expect((await store.fetch(`${store.baseUrl}/beds-old/a`)).status).toBe(404)
})

describe('an operation that is not safe to repeat is sent again only if it certainly was not processed, others always', () => {
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
    const calls = [safe['addBeds']?.(), safe['removeBeds']?.(), safe['createPlant']?.({ id: 1, name: 'Fig' })]
    const [unsafe, repeatable] = [{ error: { attempts } }, { error: { attempts: 2 } }]
    expect(await Promise.all(calls)).toMatchObject([unsafe, unsafe, repeatable])
  })
})

test('a bundle has less than 6.2 kB, and at most 100 bytes more for each further operation', async () => {
  const sdks = [await createSdk(ownContract), sdk]
  const bundles = sdks.map(({ folder }) => bundle("export { createPlantStoreClient } from './src/index.ts'", folder))
  const [size = 0, larger = 0] = (await Promise.all(bundles)).map((each) => each.size)
  const added = Object.keys(grown).length - Object.keys(ownContract).length
  console.log(`a bundle of the contract: ${size} B gzip, of ${added} more operations: ${larger} B`)
  expect(size).toBeLessThan(6200)
  expect(larger - size).toBeLessThanOrEqual(100 * added)
})

test('both entries can be bundled for browsers that have no bigint literals', async () => {
  const entries = ['index', 'testing/index'].map((name) => `export * from './src/${name}.ts'`)
  // esbuild does not warn about what is below `node_modules`, where the SDKs above are.
  const client = fileURLToPath(new URL('../..', import.meta.url))
  expect((await bundle(entries.join('\n'), client, 'es2017')).warnings).toEqual([])
})

describe('rejected', () => {
  const mail = z.email()
  /** Creates an operation with a field in one part. */
  const operationWith = (part: string, schema: z.ZodType) => {
    const [operation, shape] = [part === 'body' ? post : get, z.object({ value: schema })]
    if (part === 'response') return { ...operation, responses: { 200: shape } }
    return { ...operation, path: part === 'pathParams' ? '/beds/:value' : '/beds', [part]: shape }
  }
  const listOfText = z.preprocess((value) => [value].flat(), z.array(TextSchema))
  const old = TextSchema.meta({ deprecated: true })
  const others = [z.unknown(), z.enum(['a']), mail.or(z.int()), z.record(mail, mail), z.array(mail), Empty, old, Even]
  const changed = [mail.default('a@example.com'), TextSchema.trim(), z.string(), z.int64()]
  // Each would be lost, or less exact, in another way.
  const lossy = [
    z.url(),
    z.int().multipleOf(2),
    TextSchema.regex(/^a/i),
    TextSchema.regex(/^a/),
    z.coerce.number(),
    z.int().gt(1),
    TextSchema.regex(/^a/).regex(/z$/),
  ]
  test.each<[part: string, reason: string, schemas: z.ZodType[]]>([
    ['body', 'is not supported here; use an object', [...others, ...changed, ...lossy]],
    ['response', 'is not supported here; use an object', others],
    ['query', 'is not supported here; use an object', [z.int(), z.string(), Int64Schema, listOfText]],
    ['pathParams', 'is not supported here; use an object', [z.int(), z.string(), TextSchema.nullable()]],
    ['body', 'only an object has an id; remove Note', [TextSchema.meta({ id: 'Note' })]],
    ['body', 'write an example that is a bigint as a number', [Int64Schema.meta({ examples: [1n] })]],
  ])('in a %s: %s', (part, reason, schemas) => {
    for (const schema of schemas) {
      expect(() => generate({ getBed: operationWith(part, schema) }), schema.def.type).toThrow(reason)
    }
  })

  const response = (status: number, schema: unknown) => ({ responses: { ...get.responses, [status]: schema } })
  const paged = { scope: 'read', paged: true }
  const id = z.object({ id: TextSchema })
  const inId = { path: '/beds/:id', pathParams: id }
  const [one, another] = ['a', 'b'].map((name) => z.object({ [name]: mail }).meta({ id: 'Row' }))
  test.each<[reason: string, change: object]>([
    ['query: must be an object', { query: mail }],
    ['pathParams: must have the parameters', { ...inId, pathParams: z.object({ id: TextSchema.optional() }) }],
    ['path: must consist of segments', { path: '/beds/:id.json' }],
    ['headers: is not supported; an operation has', { headers: { 'x-bed': mail } }],
    ['body: a GET request has no body', { body: Empty }],
    ['body: must be an object', { ...post, body: z.array(Empty) }],
    ['is not a JSON schema of zod 4', { ...post, body: c.type() }],
    ['response 200: must be an object or an array', response(200, mail)],
    ['response 200.items: this z.string() is not supported', response(200, z.array(mail))],
    ['response 200.flower-bed: this z.string() is not supported', response(200, z.object({ 'flower-bed': mail }))],
    ['response 200.additionalProperties: this z.unknown() is', response(200, z.looseObject({}))],
    ['response 204: must be c.noBody()', { responses: { 204: Empty } }],
    ['response 200: must have a body; c.noBody() is a 204', { ...response(200, c.noBody()), method: 'DELETE' }],
    ['responses: a failure is a 4xx or 5xx', { ...post, ...response(304, c.noBody()) }],
    ['responses: a failure is a 4xx or 5xx', response(302, ErrorSchema)],
    ['responses: a failure is a 4xx or 5xx with ErrorSchema', response(404, Empty)],
    ['responses: must have one success status', response(201, Empty)],
    ['response 200: must be an array', { query, metadata: paged }],
    ['metadata: is missing', { metadata: undefined }],
    ['metadata.errors: add the responses of idTaken', { metadata: { scope: 'read', errors: ['idTaken'] } }],
    ['is missing, and a POST is not idempotent by itself', { method: 'POST' }],
    ['since a repeated DELETE may get the 404', { ...response(404, ErrorSchema), method: 'DELETE' }],
    ['id: the path and the query have a field of this name; rename one', { ...inId, query: id }],
    ['id: the path and the body have a field of this name', { ...post, ...inId, body: NewPlantSchema }],
    ['another schema has the id Row', { ...post, body: one, responses: { 200: another } }],
    ['GetBedInput: this name is taken', { query: id, ...response(200, Empty.meta({ id: 'GetBedInput' })) }],
    ['ErrorName: this name is taken', response(200, Empty.meta({ id: 'ErrorName' }))],
    [
      'NewPlant: is sent and received, and has an int64',
      { ...post, body: NewPlantSchema, ...response(200, NewPlantSchema) },
    ],
    ['a component has a name such as NewPlant', response(200, Empty.meta({ id: 'flower-bed' }))],
  ])('in an operation: %s', (reason, change) => {
    expect(() => generate({ getBed: { ...get, ...change } })).toThrow(reason)
  })

  test.each<[reason: string, contract: Record<string, unknown>]>([
    ['safe: must be a name such as getPlant that the SDK itself does not use', { safe: get }],
    ['get-bed: must be a name such as getPlant', { 'get-bed': get }],
    ['findBed: has the method and path of another operation; change one', { getBed: get, findBed: get }],
    ['beds: is not an operation; move the operations of a nested router to the top level', { beds: { getBed: get } }],
  ])('in a contract: %s', (reason, contract) => {
    expect(() => generate(contract)).toThrow(reason)
  })
})

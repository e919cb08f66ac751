/**
 * What a contract can say: each construct is generated completely, and works, or is rejected
 * with the place and the fix.
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
  PlantSchema,
  TextSchema,
} from '@plant-store/contract'
import { initContract } from '@ts-rest/core'
import { describe, expect, test } from 'vitest'
import * as z from 'zod'
import { generate } from '../../generator/generate.ts'
import { createSdk, expectToCompile } from '../helpers/generated-sdk.ts'
import { sendJson, startTinyServer } from '../helpers/tiny-server.ts'

const c = initContract()
const Empty = z.object({})
const getBed = { method: 'GET', path: '/beds', responses: { 200: Empty }, metadata: { scope: 'read' } }
const post = { ...getBed, method: 'POST', metadata: { scope: 'write', idempotent: true } }
const Page = z.codec(z.string().regex(/^\d+$/), z.int(), { decode: Number, encode: String })
const Letter = z.enum(['a', 'b']).meta({ id: 'Letter' })
const Even = z.int().refine((value) => value % 2 === 0)
const BIG = 9007199254740993n
const ID = 'bigint | number | string'

/** Each field of an input with its type, a value, and what is sent. */
const fields: [part: 'body' | 'query' | 'pathParams', z.ZodType, type: string, value: unknown, sent: string][] = [
  ['body', TextSchema, 'string', 'a"b\\u00001', '{"value":"a\\"b\\\\u00001"}'],
  ['body', z.email(), 'string', 'ada@example.com', '{"value":"ada@example.com"}'],
  ['body', z.int().gt(0).lt(9), 'number', 3, '{"value":3}'],
  ['body', Even.meta({ description: 'An even number.' }), 'number', 4, '{"value":4}'],
  ['body', Int64Schema, ID, BIG, '{"value":9007199254740993}'],
  ['body', Int64Schema.optional(), `${ID} | undefined`, '-9223372036854775808', '{"value":-9223372036854775808}'],
  ['body', TextSchema.nullable(), 'string | null', null, '{"value":null}'],
  ['body', Int64Schema.nullable().meta({ examples: [2] }), `${ID} | null`, BIG, '{"value":9007199254740993}'],
  ['body', Int64Schema.nullish(), `${ID} | null | undefined`, null, '{"value":null}'],
  ['body', z.array(Int64Schema.nullable()), `readonly (${ID} | null)[]`, [null, 1n], '{"value":[null,1]}'],
  ['body', z.boolean(), 'boolean', false, '{"value":false}'],
  ['body', Letter, 'Letter', 'b', '{"value":"b"}'],
  ['body', z.array(Int64Schema).min(1), `readonly (${ID})[]`, [1, BIG], '{"value":[1,9007199254740993]}'],
  ['body', z.object({ a: Int64Schema }), `{ a: ${ID} }`, { a: String(BIG) }, '{"value":{"a":9007199254740993}}'],
  ['query', TextSchema, 'string', 'a&b ü', '?value=a%26b%20%C3%BC'],
  ['query', Page.optional(), 'number | undefined', 4, '?value=4'],
  ['query', z.stringbool(), 'boolean', true, '?value=true'],
  ['pathParams', TextSchema, 'string', 'a/b ü', '/a%2Fb%20%C3%BC'],
  ['pathParams', Int64TextSchema, ID, '-01', '/-1'],
]

/** Each field of a response with its type, what is received, and what it is read as. */
const Owner = z.object({ id: Int64Schema }).meta({ id: 'Owner' })
const data: [z.ZodType, type: string, received: string, value: unknown][] = [
  [Int64Schema, 'bigint', '9223372036854775807', 2n ** 63n - 1n],
  [z.int64().optional(), 'bigint | undefined', '1', 1n],
  [z.array(Int64Schema), 'readonly bigint[]', '[9007199254740993,-0,1e3,1.0]', [BIG, 0n, 1000n, 1n]],
  [Int64Schema.nullable(), 'bigint | null', '9223372036854775807', 2n ** 63n - 1n],
  [z.int64().nullable(), 'bigint | null', 'null', null],
  [TextSchema.nullable(), 'string | null', 'null', null],
  [Owner, 'Owner', '{"id":-9223372036854775808}', { id: -(2n ** 63n) }],
  [z.array(z.object({ of: Owner.optional() })), 'readonly { of?: Owner | undefined }[]', `[{"of":{"id":${BIG}}},{}]`, [{ of: { id: BIG } }, {}]], // biome-ignore format: one line
  [z.int(), 'number', '9007199254740993', 2 ** 53],
  [TextSchema, 'string', '"\\"id\\":9007199254740993"', '"id":9007199254740993'],
]

/** Creates an operation with a field in one part. */
function operationWith(part: string, schema: z.ZodType, target = '/beds'): object {
  const shape = z.object({ value: schema })
  if (part === 'body') return { ...post, path: target, body: shape, responses: { 204: c.noBody() } }
  if (part === 'response') return { ...getBed, path: target, responses: { 200: shape } }
  return { ...getBed, path: part === 'query' ? target : `${target}/:value`, [part]: shape }
}

const change = z.object({ name: TextSchema.optional() }).meta({ id: 'BedChange' })
const OldOwner = z.object({ name: TextSchema }).meta({ id: 'OldOwner', deprecated: true, description: 'Who had it.' })
const NewBed = z.object({ id: Int64Schema, name: TextSchema }).meta({ id: 'NewBed' })
const inPath = { path: '/beds/:id', pathParams: z.object({ id: Int64TextSchema.meta({ description: 'The id.' }) }) }
const query = z.object({ limit: Page.optional(), cursor: TextSchema.optional() })
/** Operations whose input has several parts, and what is in their SDK. */
const operations: Record<string, [operation: object, ...texts: string[]]> = {
  changeBed: [{ ...post, ...inPath, method: 'PATCH', body: change }, 'interface ChangeBedInput extends BedChange { /** The id.', 'The SDK takes a bigint, a safe integer, or decimal digits as text. */ id: bigint | number | string }', 'changeBed(input: ChangeBedInput, options?: CallOptions): Promise<{ }>'], // biome-ignore format: one line
  putBed: [{ ...getBed, ...inPath, method: 'PUT', body: NewBed }, 'putBed(input: NewBed, options?: CallOptions)'],
  nameBed: [{ ...post, path: '/bed-names', body: z.object({ by: OldOwner }).meta({ id: 'NewName' }) }, 'interface NewName { /** Who had it. * @deprecated */ by: OldOwner }'], // biome-ignore format: one line
  deleteBed: [{ ...getBed, ...inPath, method: 'DELETE', responses: { 204: c.noBody() }, deprecated: true }, 'deleteBed(input: DeleteBedInput, options?: CallOptions): Promise<undefined>', '@deprecated'], // biome-ignore format: one line
  searchBeds: [{ ...getBed, path: '/bed-list', query, responses: { 200: z.array(PlantSchema) }, metadata: { scope: 'read', paged: true } }, "PagedOperationName = 'searchBeds'", 'searchBeds(input?: SearchBedsInput, options?: CallOptions): Promise<Plant[]>'], // biome-ignore format: one line
  addBeds: [{ ...post, path: '/bed-list', body: c.noBody(), metadata: { scope: 'write', idempotent: false } }, 'idempotent: false', 'addBeds(input?: AddBedsInput, options?: CallOptions)', 'may have been processed: check'], // biome-ignore format: one line
}

const contract = Object.fromEntries([
  ...fields.map(([part, schema], index) => [`send${index}`, operationWith(part, schema, `/field${index}`)]),
  ...data.map(([schema], index) => [`read${index}`, operationWith('response', schema, `/data${index}`)]),
  ...Object.entries(operations).map(([name, [operation]]) => [name, operation]),
])
const program = `
import type { Letter, Operations, Owner } from './index.ts'

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
function same<A, B>(_equal: Equal<A, B>): void {}
${fields.map(([, , type], index) => `same<NonNullable<Parameters<Operations['send${index}']>[0]>['value'], ${type}>(true)`).join('\n')}
${data.map(([, type], index) => `same<Awaited<ReturnType<Operations['read${index}']>>['value'], ${type}>(true)`).join('\n')}
`

const sdk = await createSdk(contract)
const server = await startTinyServer((response, { method, url }) => {
  const [, index] = /^\/data(\d+)$/.exec(url) ?? []
  if (index) response.end(`{"value":${data[Number(index)]?.[2]},"id":9007199254740993,"constructor":{"id":1}}`)
  else if ((method === 'POST' && url !== '/bed-list') || method === 'DELETE') response.writeHead(204).end()
  else sendJson(response, 200, url.startsWith('/bed-list') && method === 'GET' ? [] : {})
})
const client = sdk.createClient({ baseUrl: server.url, token: 'pst_test', retries: 0 })

test('the generated files of this package are up to date, and no other is there', async () => {
  const folder = fileURLToPath(new URL('../../src/generated/', import.meta.url))
  const files = (await readdir(folder)).map(async (name) => [name, await readFile(folder + name, 'utf8')])
  expect(Object.fromEntries(await Promise.all(files)), 'run npm run generate').toEqual(generate(ownContract))
})

/** The own contract with optional fields that are added anywhere, which change no call. */
const dryRun = z.object({ dryRun: z.stringbool().optional() })
const TallPlant = NewPlantSchema.extend({ height: z.int().optional() }).meta({ id: 'TallPlant' })
const extended = await createSdk({
  createPlant: { ...ownContract.createPlant, query: dryRun, body: TallPlant },
  getPlants: { ...ownContract.getPlants, query: ownContract.getPlants.query.extend(dryRun.shape) },
})
const app = `
import { createPlantStoreClient, type Operations } from './index.ts'
import type { GetPlantsInput, NewPlant } from './released-types.ts'
const client = createPlantStoreClient()
export const calls = (plant: NewPlant, query: GetPlantsInput) =>
  [client.createPlant(plant, { timeout: 5 }), client.getPlants(query, {}), client.getPlants()]
export type Plant = Awaited<ReturnType<Operations['createPlant']>>`

test('all of it compiles, with the types of the table, without paged operations, and with fields that are added', async () => {
  await writeFile(path.join(sdk.folder, 'src/program.ts'), program)
  const withoutPages = await createSdk({ getBed })
  await writeFile(path.join(extended.folder, 'src/released-types.ts'), String(generate(ownContract)['types.ts']))
  await writeFile(path.join(extended.folder, 'src/app.ts'), app)
  await expectToCompile([sdk.folder, withoutPages.folder, extended.folder])
})

test.each(fields.map((row, index) => [index, ...row] as const))('field %i of the %s is sent', async (...row) => {
  const [index, part, , , value, sent] = row
  await client[`send${index}`]?.({ value })
  const { url = '', body = '' } = server.requests.at(-1) ?? {}
  expect(part === 'body' ? body : url.replace(`/field${index}`, '')).toBe(sent)
})

test.each(data.map(([, , , value], index) => [index, value]))(
  'field %i of a response is exactly %s',
  async (index, value) => {
    // What the contract does not name is as `JSON.parse` reads it.
    const others = { id: 2 ** 53, constructor: { id: 1 } }
    expect(await client[`read${index}`]?.()).toEqual({ value, ...others })
  },
)

test.each(Object.entries(operations))('%s takes one input, described completely', (name, [operation, ...texts]) => {
  const text = Object.values(generate({ [name]: operation })).join('\n')
  // Comments are wrapped.
  for (const part of texts) expect(text.replace(/\s+(\*(?!\/)\s*)?/g, ' ')).toContain(part)
})

test('a field of the path and the body is sent in both, and an input without fields takes none', async () => {
  await client['putBed']?.({ id: BIG, name: 'north' })
  expect(server.requests.at(-1)).toMatchObject({ url: `/beds/${BIG}`, body: `{"id":${BIG},"name":"north"}` })
  await client['changeBed']?.({ id: 1, name: 'south' })
  expect(server.requests.at(-1)).toMatchObject({ method: 'PATCH', url: '/beds/1', body: '{"name":"south"}' })
  await client['addBeds']?.()
  await expect(client['addBeds']?.({ size: 1 })).rejects.toThrow('size: is not one of ; options are the')
  const byText = client[`send${fields.findIndex(([part]) => part === 'pathParams')}`]
  for (const value of ['', '.', '..']) await expect(byText?.({ value })).rejects.toThrow('value: must not be empty')
  await expect(byText?.({})).rejects.toThrow('value: is required')
})

test('the fake checks what the contract says of a field, takes null and int64s, and responds with them', async () => {
  const note = TextSchema.min(2).max(4)
  const parts = z
    .object({ one: z.int().gt(0).lt(9), price: z.number().gt(0.5).optional(), mail: z.email().optional() })
    .optional()
  const others = {
    tags: z.array(note).min(1).max(2).optional(),
    code: TextSchema.regex(/^a/).regex(/z$/).optional(),
    parts,
  }
  const body = z.object({ size: Int64Schema.nullish(), note: note.nullish(), ...others }).meta({ id: 'Change' })
  const responses = { 200: z.object({ id: Int64Schema, ...body.shape }) }
  const one = { ...inPath, path: '/bed.list/:id' }
  const operations = {
    readBed: { ...getBed, ...one },
    changeBed: { ...post, ...one, method: 'PATCH', body, responses },
    listBeds: { ...getBed, path: '/bed.list/all' },
  }
  const { folder, createClient } = await createSdk({ createPlant: ownContract.createPlant, ...operations })
  const { createFakePlantStore } = await import(path.join(folder, 'src/testing/index.ts'))
  const { handlers } = await import(path.join(folder, 'src/testing/operations.ts'))
  handlers.changeBed = (body: object) => ({ body, unused: {} })
  handlers.listBeds = () => ({ body: {}, unused: {} })
  const store = createFakePlantStore()
  const { changeBed: change, listBeds } = createClient(store)
  expect(await listBeds?.(), 'not that of `/bed.list/:id`').toEqual({})
  const valid = { note: 'fig', tags: ['🪴', 'abcd'], code: 'a z', parts: { one: 8, mail: 'ada@example.com' } }
  for (const each of [{ size: null, note: null }, { size: BIG, ...valid }, { note: null }])
    expect(await change?.({ id: BIG, ...each })).toEqual({ id: BIG, ...each })
  const invalid: [input: object, ...fields: string[]][] = [
    [{ note: 'a', tags: ['abcde'] }, 'note', 'tags.0'],
    [{ tags: ['ab', 'cd', 5], parts: [] }, 'tags.2', 'tags', 'parts'],
    [{ tags: [], code: 'ab' }, 'tags', 'code'],
    [{ parts: { one: 0, mail: 'ada' } }, 'parts.one', 'parts.mail'],
    [{ parts: { one: 9, price: 0.5 } }, 'parts.one', 'parts.price'],
  ]
  for (const [input, ...names] of invalid) {
    const issues = names.map((path) => ({ path, message: expect.stringMatching(/^must be an? /) }))
    await expect(change?.({ id: BIG, ...input })).rejects.toMatchObject({ code: 40002, issues })
  }
  expect((await store.fetch(`${store.baseUrl}/bed-list/1`, { method: 'PATCH' })).status).toBe(404)
})

describe('rejected', () => {
  const recursive: z.ZodType = z.object({
    get children() {
      return z.array(recursive)
    },
  })
  const mail = z.email()
  const listOfText = z.preprocess((value) => [value].flat(), z.array(TextSchema))
  const others = [z.unknown(), z.literal('a'), mail.or(z.int()), z.record(mail, mail), z.tuple([mail])]
  const changed = [Even, mail.default('a@example.com'), TextSchema.trim(), z.string(), z.array(z.string()), z.int64()]
  // Each would be lost, or less exact, in another way.
  const lossy = [
    z.url(),
    z.int().multipleOf(2),
    z.enum({ A: 1 }),
    z.looseObject({}),
    z.object({}).catchall(mail),
    TextSchema.regex(/^a/i),
    z.coerce.number(),
  ]
  test.each<[part: string, reason: string, schemas: z.ZodType[]]>([
    ['body', 'is not supported here; use TextSchema', [...others, ...changed, ...lossy, Letter.nullable()]],
    ['response', 'is not supported here; use TextSchema', [...others, Even]],
    ['query', 'is not supported here; use TextSchema', [z.int(), z.string(), Int64Schema, listOfText]],
    ['pathParams', 'is not supported here; use TextSchema', [z.int(), z.string(), TextSchema.nullable()]],
    ['body', 'Cycle detected', [recursive]],
    ['body', 'write an example that is a bigint as a number', [Int64Schema.meta({ examples: [1n] })]],
    ['pathParams', 'to a BigInt; change the schema', [z.string().transform(BigInt).pipe(z.int64())]],
  ])('in a %s: %s', (part, reason, schemas) => {
    for (const schema of schemas) {
      expect(() => generate({ getBed: operationWith(part, schema) }), schema.def.type).toThrow(reason)
    }
  })

  const response = (status: number, schema: unknown) => ({ responses: { ...getBed.responses, [status]: schema } })
  const paged = { scope: 'read', paged: true }
  const id = z.object({ id: TextSchema })
  const inId = { path: '/beds/:id', pathParams: id }
  const [one, another] = ['a', 'b'].map((name) => z.object({ [name]: mail }).meta({ id: 'Row' }))
  test.each<[reason: string, change: object]>([
    ['query: must be an object', { query: mail }],
    ['pathParams: must have the parameters of /beds', { pathParams: id }],
    ['pathParams: must have the parameters', { ...inId, pathParams: z.object({ id: TextSchema.optional() }) }],
    ['path: must consist of segments', { path: '/beds/:id.json' }],
    ['headers: is not supported; an operation has', { headers: { 'x-bed': mail } }],
    ['body: a GET request has no body', { body: Empty }],
    ['contentType: is not supported', { ...post, contentType: 'multipart/form-data', body: Empty }],
    ['body: must be an object', { ...post, body: z.array(mail) }],
    ['is not a JSON schema of zod 4', { ...post, body: c.type() }],
    ['response 200: must be an object or an array', response(200, mail)],
    ['response 204: must be c.noBody()', { responses: { 204: Empty } }],
    ['response 304: must be c.noBody()', response(304, Empty)],
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
    ['since a repeated PUT may get the 412', { ...response(412, ErrorSchema), method: 'PUT' }],
    ['id: the path and the query have a field of this name; rename one', { ...inId, query: id }],
    ['id: the path and the body have a field of this name', { ...post, ...inId, body: NewBed }],
    ['another schema has the id Row', { ...post, body: one, responses: { 200: another } }],
    ['PlantStoreError: this name is taken', response(200, Empty.meta({ id: 'PlantStoreError' }))],
    ['Page: this name is taken', response(200, Empty.meta({ id: 'Page' }))],
    ['NewBed: is sent and received, and has an int64', { ...post, body: NewBed, ...response(200, NewBed) }],
    ['a component has a name such as NewPlant', response(200, Empty.meta({ id: 'flower-bed' }))],
  ])('in an operation: %s', (reason, change) => {
    expect(() => generate({ getBed: { ...getBed, ...change } })).toThrow(reason)
  })

  test.each<[reason: string, contract: Record<string, unknown>]>([
    ['The contract: has no operation; add one', {}],
    ['safe: the SDK uses this name; rename the operation', { safe: getBed }],
    ['get-bed: must be a name such as getPlant; rename the operation', { 'get-bed': getBed }],
    ['findBed: has the method and path of another operation; change one', { getBed, findBed: getBed }],
    ['beds: is not an operation; move the operations of a nested router to the top level', { beds: { getBed } }],
  ])('in a contract: %s', (reason, contract) => {
    expect(() => generate(contract)).toThrow(reason)
  })
})

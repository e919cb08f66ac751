/** What a contract can say: each construct is generated completely, and works, or is rejected with the place and the fix. */
import { readdir, readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import querystring from 'node:querystring'
import { fileURLToPath } from 'node:url'
import {
  ErrorSchema,
  Int64Schema,
  Int64TextSchema,
  contract as ownContract,
  PlantSchema,
  TextSchema,
} from '@plant-store/contract'
import { initContract } from '@ts-rest/core'
import { parse } from 'lossless-json'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import * as z from 'zod'
import { generate } from '../../generator/generate.ts'
import { orUndefined } from '../../src/wire/write.ts'
import { createSdk, expectToCompile, type Sdk } from '../helpers/generated-sdk.ts'
import { startTinyServer, type TinyServer } from '../helpers/tiny-server.ts'

const c = initContract()
const responses = { 200: z.string() }
const getBed = { method: 'GET', path: '/beds', responses, metadata: { scope: 'read' } }
const post = { ...getBed, method: 'POST', metadata: { scope: 'write', idempotent: true } }

const Page = z.codec(z.string(), z.int(), { decode: Number, encode: String })
/** Its text is not that of the number. */
const Hex = z.codec(z.string().regex(/^[\da-f]+$/), z.int(), {
  decode: (text) => Number.parseInt(text, 16),
  encode: (value) => value.toString(16),
})
const toList = (value: unknown) => [value].flat()
const listOf = (item: z.ZodType) => z.preprocess(toList, z.array(item))
const Letter = z.enum(['a', 'b']).meta({ id: 'Letter' })
const Thing = z.object({ name: z.string(), id: Int64Schema.optional() }).meta({ id: 'Thing' })
const Kinds = [
  z.object({ kind: z.literal('id'), id: Int64Schema }),
  z.object({ kind: z.literal('none') }).meta({ id: 'None' }),
] as const
const ByKind = z.discriminatedUnion('kind', [...Kinds])
/** An int64 in one alternative, and an object with other numbers at the same place of another one. */
const ByPlace = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('a'), a: Int64Schema }),
  z.object({ kind: z.literal('b'), a: z.object({ b: z.int() }) }),
])
const ById = z.record(z.string(), z.object({ id: Int64Schema }))
const Ids = z.array(Int64Schema.nullable()).readonly()
const shape = { a: z.string(), b: z.int().optional() }
const Digits = z.string().regex(/^\d+$/)
const Letters = z.preprocess(toList, z.array(Letter).max(2).optional())

const BIG = '9007199254740993'
/** The types of {@link ByKind} and {@link ByPlace}, with this type of an int64. */
const typeByKind = (int64: string) => `{ kind: 'id'; id: ${int64} } | None`
const typeByPlace = (int64: string) => `{ kind: 'a'; a: ${int64} } | { kind: 'b'; a: { b: number } }`

/** What the document cannot say of them, only the service checks. */
const NotB = z.string().refine((name) => name !== 'b')
const OnlyA = z.custom((value) => value === 'a').meta({ override: { type: 'string' } })
const AnyText = z.preprocess(String, z.string())
const UNDESCRIBED: z.ZodType[] = [NotB, OnlyA, AnyText]

/** Each value with its types in a request and a response, of which an empty one is rejected, and its JSON. */
const values: [value: z.ZodType, request: string, response: string, json: string][] = [
  ...[z.string(), z.string().min(1).regex(/^F/).startsWith('F').trim()].map(same('string', '"Ficus"')),
  ...[z.string().brand('A'), NotB].map(same('string', '"a"')),
  ...[z.email()].map(same('string', '"ada@example.com"')),
  ...[z.iso.datetime()].map(same('string', '"2026-11-22T12:30:00Z"')),
  ...[z.url()].map(same('string', '"https://example.com"')),
  ...[z.base64(), z.base64url(), z.nanoid().or(z.hex())].map(same('string', '"ab12"')),
  ...[z.number(), z.number().min(0).multipleOf(0.5), z.float64()].map(same('number', '0.5')),
  ...[z.int(), z.int32(), z.uint32(), z.int().positive(), z.int().gt(0).lt(9)].map(same('number', '3')),
  [Int64Schema.meta({ description: 'An id.' }), 'number | bigint', 'bigint', '9007199254740993'],
  [Int64Schema.nullable(), 'number | bigint | null', 'bigint | null', '-9223372036854775808'],
  [z.bigint(), '', 'bigint', '-9007199254740993'],
  [z.int64(), '', 'bigint', '9223372036854775807'],
  ...[z.boolean()].map(same('boolean', 'true')),
  ...[z.null()].map(same('null', 'null')),
  ...[z.literal('a')].map(same("'a'", '"a"')),
  ...[z.literal(['a', 1, true, null])].map(same("'a' | 1 | true | null", '1')),
  ...[z.enum(['a', 'b']), Letter].map((letter, index) => same(index ? 'Letter' : "'a' | 'b'", '"b"')(letter)),
  ...[z.enum({ Low: 0, High: 1, Other: 'other' })].map(same("0 | 1 | 'other'", '1')),
  ...[z.string().optional(), z.exactOptional(z.string())].map(same('string | undefined', '')),
  ...[z.string().nullish(), z.string().nullable().optional()].map(same('string | null | undefined', 'null')),
  [z.string().default('a'), 'string | undefined', '', ''],
  [z.array(z.string()), 'readonly string[]', 'string[]', '["a",""]'],
  [Ids, 'readonly (number | bigint | null)[]', '(bigint | null)[]', `[${BIG},null]`],
  ...[z.object(shape), z.strictObject(shape)].map(same('{ a: string; b?: number | undefined }', '{"a":"x"}')),
  [Thing, 'ThingInput', 'Thing', '{"name":"x","id":9007199254740993}'],
  [z.array(z.array(Int64Schema)), 'readonly (readonly (number | bigint)[])[]', 'bigint[][]', '[[9007199254740993]]'],
  [ById, '{ [name: string]: { id: number | bigint } }', '{ [name: string]: { id: bigint } }', `{"any":{"id":${BIG}}}`],
  [z.union([Int64Schema, z.string()]), 'number | bigint | string', 'bigint | string', '9007199254740993'],
  [z.union([Int64Schema, z.string()]), 'number | bigint | string', 'bigint | string', '"9007199254740993"'],
  ...[z.xor([z.string(), z.boolean()])].map(same('string | boolean', 'false')),
  [z.union([z.array(z.int()), z.null()]), 'readonly number[] | null', 'number[] | null', '[1]'],
  [ByKind, typeByKind('number | bigint'), typeByKind('bigint'), `{"kind":"id","id":${BIG}}`],
  [ByKind, typeByKind('number | bigint'), typeByKind('bigint'), '{"kind":"none"}'],
  [ByPlace, typeByPlace('number | bigint'), typeByPlace('bigint'), '{"kind":"b","a":{"b":1}}'],
  [z.string().transform(Number), 'string', '', '"1"'],
  [AnyText, 'string', '', '"1"'],
  [z.codec(z.enum(['1', '2']), z.int(), { decode: Number, encode: () => '1' as const }), "'1' | '2'", '', '"1"'],
  [OnlyA, 'string', 'string', '"a"'],
]

function same(type: string, json: string) {
  return (value: z.ZodType): (typeof values)[number] => [value, type, type, json]
}

/** Each parameter with its type, a value, and what is sent. */
const parameters: [place: string, value: z.ZodType, type: string, given: unknown, sent: string | undefined][] = [
  ['query', TextSchema, 'string', 'a&b ü', '?value=a%26b%20%C3%BC'],
  ['query', z.email().optional(), 'string | undefined', undefined, undefined],
  ['query', z.enum(['2', '3']).default('2'), "'2' | '3' | undefined", '3', '?value=3'],
  ['query', Int64TextSchema, 'number | bigint', 2n ** 53n + 1n, '?value=9007199254740993'],
  ['query', z.url().transform((url) => new URL(url)), 'string', 'http://a.b/', '?value=http%3A%2F%2Fa.b%2F'],
  ['query', z.stringbool().default(false), 'boolean | undefined', true, '?value=true'],
  ['query', Page.default(3), 'number | undefined', 4, '?value=4'],
  ['query', Digits.transform(Number).pipe(z.number().max(9)), 'number', 5, '?value=5'],
  ['query', Hex, 'string', 'ff', '?value=ff'],
  ['query', z.codec(Digits, z.bigint(), { decode: BigInt, encode: String }), 'number | bigint', 60n, '?value=60'],
  ['headers', Page, 'number', 3, '3'],
  ['query', listOf(TextSchema), 'readonly string[]', ['a', 'b'], '?value=a&value=b'],
  ['query', listOf(Int64TextSchema).optional(), 'readonly (number | bigint)[] | undefined', [], undefined],
  ['query', Letters, 'readonly Letter[] | undefined', ['a'], '?value=a'],
  ['pathParams', TextSchema, 'string', 'a/b ü', '/a%2Fb%20%C3%BC'],
  ['pathParams', Letter, 'Letter', 'b', '/b'],
  ['pathParams', Int64TextSchema, 'number | bigint', -1, '/-1'],
  ['headers', z.string(), 'string', 'a b', 'a b'],
  ['headers', z.string().optional(), 'string | undefined', undefined, undefined],
  ['headers', z.enum(['a b', '!~']), "'a b' | '!~'", '!~', '!~'],
  ['headers', Int64TextSchema, 'number | bigint', 2n ** 53n + 1n, '9007199254740993'],
]

/** Creates an operation with a value in one place. */
function operationWith(place: string, value: z.ZodType, path = '/beds'): object {
  const shape = { value }
  if (place === 'request') return { ...post, path, body: z.object(shape), responses: { 204: c.noBody() } }
  if (place === 'response') return { ...getBed, path, responses: { 200: z.object(shape) } }
  if (place === 'query') return { ...getBed, path, query: z.object(shape) }
  if (place === 'headers') return { ...getBed, path, headers: shape }
  return { ...getBed, path: `${path}/:value`, pathParams: z.object(shape) }
}

const Size = TextSchema.default('2').meta({ deprecated: true, examples: ['3'], title: 'Size' })
const range = z.object({ limit: Page.optional(), cursor: TextSchema.optional() })
const list = { query: range, responses: { 200: z.array(Thing) } }
/** Each operation with what is in its SDK. */
const operations: [operation: object, ...texts: string[]][] = [
  [{ headers: z.object({ 'x-size': z.string() }) }, 'headers: '],
  [{ query: z.object({ size: TextSchema.optional() }) }, 'query?: '],
  [{ ...post, body: PlantSchema, responses: { 200: PlantSchema } }, '(body: Plant, options?', 'Promise<Plant>'],
  [{ ...post, body: z.string(), contentType: 'application/json' }, '(body: string, options?: CallOptions)'],
  [{ ...post, body: c.noBody() }, '(options?: CallOptions)'],
  [{ method: 'DELETE', responses: { 204: c.noBody() } }, 'Promise<undefined>'],
  [{ responses: { 200: z.string(), 201: z.int(), 204: c.noBody() } }, 'Promise<string | number | undefined>'],
  [{ responses: { 200: z.string(), 404: ErrorSchema, 409: ErrorSchema } }, 'DeclaredError<404 | 409>'],
  [{ summary: 'Get Bed', description: 'Returns a bed.' }, 'Returns a bed.'],
  [{ summary: 'Get Bed', deprecated: true }, 'Get Bed', '@deprecated'],
  [{ query: z.object({ size: Size }) }, 'default "2', 'example "3', 'deprec', 'Size'],
  [{ ...post, body: z.object({ id: Int64Schema.default(3n) }) }, '@default 3'],
  [{ metadata: { scope: 'read', idempotent: false } }, 'canRetry: wasNotProcessed', 'may have been processed: check'],
  [{ ...list, metadata: { scope: 'read', paged: true } }, 'paged: true'],
]

const contract = Object.fromEntries([
  ...values.flatMap(([value, request, response], index) => [
    ...(request ? [[`write${index}`, operationWith('request', value, `/value${index}`)]] : []),
    ...(response ? [[`read${index}`, operationWith('response', value, `/value${index}`)]] : []),
  ]),
  ...parameters.map(([place, value], index) => [`send${index}`, operationWith(place, value, `/parameter${index}`)]),
  ...operations.map(([operation], index) => [
    `operation${index}`,
    { ...getBed, ...operation, path: `/operation${index}` },
  ]),
])

const program = `
import type { None, Letter, Operations, Thing, ThingInput } from './index.ts'

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
function same<A, B>(_equal: Equal<A, B>): void {}

${[
  ...values.flatMap(([, request, response], index) => [
    request && `same<Parameters<Operations['write${index}']>[0]['value'], ${request}>(true)`,
    response && `same<Awaited<ReturnType<Operations['read${index}']>>['value'], ${response}>(true)`,
  ]),
  ...parameters.map(
    ([, , type], index) => `same<NonNullable<Parameters<Operations['send${index}']>[0]>['value'], ${type}>(true)`,
  ),
].join('\n')}
`

let sdk: Sdk
let server: TinyServer
let client: ReturnType<Sdk['createClient']>
/** What the server responds with. */
let json = '""'

beforeAll(async () => {
  sdk = await createSdk(contract)
  server = await startTinyServer((response, { method }) => {
    if (method === 'POST') response.writeHead(204).end()
    else response.writeHead(200, { 'content-type': 'application/json' }).end(json)
  })
  client = sdk.createClient({ baseUrl: server.url, token: 'pst_test', retries: 0 })
})
afterAll(() => server[Symbol.asyncDispose]())

/** Reads JSON as the plant store does: an integer that a `number` would round is a `bigint`. */
function parseJson(text: string): unknown {
  return parse(text, null, (digits) => (/^-?\d{16,}$/.test(digits) ? BigInt(digits) : Number(digits)))
}

test('the generated files of this package are up to date, and no other is there', async () => {
  const folder = fileURLToPath(new URL('../../src/generated/', import.meta.url))
  const files = (await readdir(folder)).map(async (name) => [name, await readFile(folder + name, 'utf8')])
  expect(Object.fromEntries(await Promise.all(files)), 'run npm run generate').toEqual(generate(ownContract))
})

test('all of it compiles, with the types of the table', async () => {
  await writeFile(path.join(sdk.folder, 'src/program.ts'), program)
  await expectToCompile(sdk.folder)
})

test.each(values.map((row, index) => [index, row[3], ...row] as const))('value %i is %s', async (...row) => {
  const [index, , value, request, response, sent] = row
  const text = sent ? `{"value":${sent}}` : '{}'
  if (response) {
    json = text
    expect(await client[`read${index}`]?.()).toEqual(parseJson(text))
  } else expect(() => generate({ getBed: operationWith('response', value) })).toThrow('getBed: response')

  if (request) {
    await client[`write${index}`]?.(parseJson(text))
    expect(server.requests.at(-1)?.body).toBe(text)
    expect(z.object({ value }).safeParse(parseJson(text))).toMatchObject({ success: true })
  } else expect(() => generate({ getBed: operationWith('request', value) })).toThrow('getBed: body')
})

test('the fake accepts the bodies that the contract accepts', async () => {
  const [{ requestRules }, { check }, { exactly }] = await Promise.all(
    ['generated/requests', 'testing/check', 'wire/read-exactly'].map((name) => import(`${sdk.folder}/src/${name}.ts`)),
  )
  const bodies = ['{}', ...new Set(values.map(([, , , json]) => `{"value":${json || '[null]'}}`))]
  const different = values.flatMap(([value, request], index) => {
    if (UNDESCRIBED.includes(value)) return []
    const { body, int64s } = requestRules[`write${index}`] ?? {}
    const read = int64s ? exactly(int64s) : JSON.parse
    const accepts = (json: string) => orUndefined(() => [check(read(json), body, '')]) !== undefined
    return (request ? bodies : [])
      .map((json) => ({ request, json, fake: accepts(json), schema: z.object({ value }).safeParse(parseJson(json)) }))
      .filter(({ fake, schema }) => fake !== schema.success)
  })
  expect(different).toEqual([])
})

test.each(parameters.map((row, index) => [index, ...row] as const))('parameter %i in %s is sent', async (...row) => {
  const [index, place, schema, , value, sent] = row
  await client[`send${index}`]?.({ value })
  const { url = '', headers = {} } = server.requests.at(-1) ?? {}
  const rest = url.replace(`/parameter${index}`, '')
  expect(place === 'headers' ? headers['value'] : rest || undefined).toBe(sent)
  // As Express reads it.
  const received: Record<string, unknown> = {
    query: querystring.parse(rest.slice(1))['value'],
    headers: headers['value'],
    pathParams: decodeURIComponent(rest.slice(1)),
  }
  expect(schema.safeParse(received[place])).toMatchObject({ success: true })
})

const texts = operations.map(([operation, ...parts]) => [parts, operation] as const)
test.each(texts)('%j is in the SDK', (parts, operation) => {
  const text = Object.values(generate({ getBed: { ...getBed, ...operation } })).join('\n')
  // Comments are wrapped.
  for (const part of parts) expect(text.replace(/\s+\*?\s*/g, ' ')).toContain(part)
})

test.each([
  // Each would be another path.
  ...['', '.', '..'].map((value) => ['pathParams', value, 'must not be empty, "." or ".."']),
  ...['a\nb', ' a'].map((value) => ['headers', value, 'must be visible ASCII text']),
])('in %s the value %j is not sent, and %s', async (place, value, reason) => {
  const index = parameters.findIndex((row) => row[0] === place && row[2] === 'string')
  await expect(client[`send${index}`]?.({ value })).rejects.toThrow(`value: ${reason}`)
})

test.each<[types: string, value: unknown, reason: string]>([
  ["{ kind: 'id'", { kind: 'id' }, 'value.id: is required'],
  ["{ kind: 'id'", { kind: 'id', id: 'x' }, 'value.id: must be a bigint or a safe integer'],
  ["{ kind: 'id'", { kind: 'ID', id: 1 }, 'value.kind: must be id or none'],
  ["{ kind: 'id'", {}, 'value.kind: must be id or none'],
  ["{ kind: 'id'", 'id', 'value: must be an object'],
  ['string | null', 5, 'value: must be a string or null'],
  ['string | null', '\0', 'value: must not contain U+0000 or a lone surrogate'],
  ['readonly number[] | null', ['x'], 'value[0]: must be an integer'],
  ['readonly string[]', { length: 0 }, 'value: must be an array'],
  ['number', Number.NaN, 'value: must be a number'],
  ['boolean', 'yes', 'value: must be a boolean'],
  ['{ [name: string]', { 'a b': { id: 0.5 } }, 'value.a b.id: must be a bigint or a safe integer'],
  ["'a' | 1 | true", 'b', 'value: must be a or 1 or true or null'],
])('%s: %j is rejected with what is wrong in it', async (types, value, reason) => {
  const index = values.findIndex(([, request]) => request.startsWith(types))
  await expect(client[`write${index}`]?.({ value })).rejects.toThrow(`: ${reason}`)
})

describe('rejected', () => {
  const HasLetter = z.object({ a: Letter })
  const Branch = z.object({
    get children(): z.ZodArray<z.ZodType> {
      return z.array(Tree)
    },
  })
  const Tree = Branch.meta({ id: 'Tree' })
  const [one, another] = ['a', 'b'].map((name) => z.object({ [name]: z.string() }).meta({ id: 'Row' }))
  const big = 2n ** 53n + 1n
  const apart = 'the alternatives of a union must differ in their JSON type'
  const bigint = 'rejects integers below 2^53, which are numbers in JSON; use Int64Schema'
  const takenNames = ['PlantStoreError', 'DeclaredError', 'RawPage', 'Attempt', 'Promise', 'Operations', 'Result']
  const anyName = 'this name is not supported; rename it'
  const override =
    '`override` must describe a string, a number, a boolean, or an integer with the format int32 or int64'

  test.each<[reason: string, ...schemas: z.core.$ZodType[]]>([
    ['z.unknown() is not supported; describe the value, whose integers could be rounded', z.unknown()],
    ['contains itself, which is not supported; use a flat list whose items have the id of their parent', Tree],
    ['() is not supported; use another schema', z.nonoptional(z.string().optional()), z.symbol()],
    ['() is not supported; ', z.array(z.any()), z.lazy(() => z.string()), z.json(), z.string().catch('F')],
    ['() is not supported; ', z.map(z.string(), z.string()), z.set(z.string()), z.tuple([z.string()]), z.never()],
    ['the example "1" is not of the type integer, or has a part', z.int().meta({ examples: ['1'] })],
    ['the example {"a":1} is not of the type object', z.object({ a: z.string() }).meta({ examples: [{ a: 1 }] })],
    ['the example {} is not of the type object', z.object({ a: z.string() }).meta({ examples: [{}] })],
    ['the example 3 is not one of the values or types', z.union([z.string(), z.null()]).meta({ examples: [3] })],
    ['the example null is not of the type string', z.string().meta({ examples: [null] })],
    ['the example [] is not of the type object', z.object({}).meta({ examples: [[]] })],
    ['an object with other fields than', z.looseObject({}), z.object({}).catchall(z.int())],
    [
      'the names of a record are',
      z.looseRecord(z.string(), z.int()),
      z.record(z.int(), z.string()),
      z.record(Letter, z.int()),
    ],
    [anyName, ...['__proto__', 'constructor', '*', '[]'].map((name) => z.object({ [name]: z.string() }))],
    ['another schema has the id Row; use one schema, or rename one', z.object({ one, another })],
    ['another schema has the id Error', z.object({}).meta({ id: 'Error' })],
    ['the SDK or JavaScript uses this name', ...takenNames.map((id) => z.object({}).meta({ id }))],
    ['a component has a name such as NewPlant', z.object({}).meta({ id: 'flower-bed' })],
    [`JSON Schema would round ${big}`, z.string().meta({ examples: [{ id: big }] }), z.string().meta({ 'x-a': big })],
    ['JSON could round 1e+21; use a safe integer', z.literal(1e21), z.enum({ A: 1e21 })],
    ['a bigint such as 1 is not JSON; use a number as the literal', z.literal(1n)],
    ['undefined is not JSON; use .optional()', z.literal(['a', undefined])],
    ['JSON Schema has no regular expression flags; write the pattern without the flag i', z.string().regex(/a/i)],
    ['is optional; JSON has no absent items, so use .nullable()', z.array(z.string().optional().nullable().readonly())],
    ['is optional; use .nullable()', z.record(z.string(), z.string().optional())],
    ['is optional; make the whole union optional', z.union([z.string().optional(), z.int()])],
    ['z.date() is not supported; use z.iso.datetime()', z.date(), z.date().nullable().optional()],
    ['use another schema with .refine(), or z.base64() for bytes', z.instanceof(Date), z.instanceof(Uint8Array)],
    [apart, z.union([Int64Schema, z.number()]), z.union([z.literal(1), Int64Schema])],
    [apart, z.union([z.array(z.string()), z.array(Int64Schema)]), z.union([z.object({ a: z.int() }), z.object({})])],
    [apart, z.union([HasLetter, z.object({ a: z.literal('b'), c: z.int() })])],
    ['throws on {} (Duplicate discriminator', z.discriminatedUnion('a', [HasLetter, HasLetter])],
    [apart, z.union([z.record(z.string(), z.string()), z.object({ kind: z.literal('b') })])],
    ['the metadata "type" is not supported; name it "x-type"', z.number().meta({ type: 'integer', format: 'int64' })],
    [override, z.unknown().meta({ override: {} }), z.unknown().meta({ override: { type: 'integer' } })],
    [override, z.unknown().meta({ override: { type: 'array' } }), z.any().meta({ override: { anyOf: [] } })],
  ])('in a request and a response: %s', (reason, ...schemas) => {
    for (const schema of schemas) {
      for (const place of ['request', 'response']) {
        expect(() => generate({ getBed: operationWith(place, schema as z.ZodType) })).toThrow(reason)
      }
    }
  })

  const isText = 'is text, although JSON has numbers and booleans; use z.boolean()'
  const changed = 'is sent as the handler returns it, before zod changes it; use the schema of what is sent'
  const coerce = 'z.coerce reads other values too'
  const coerced = [z.coerce.string(), z.coerce.number(), z.coerce.bigint().optional(), z.coerce.boolean()]
  const text = 'accepts U+0000 or lone surrogates, which not every database does; use TextSchema, or a format'
  const Text = z.string().refine((value) => value !== '\0')
  const Slow = z.string().refine(async () => true)
  const a = z.object({ kind: z.literal('a'), a: z.int64() })
  const mixed = z.discriminatedUnion('kind', [a, a.extend({ kind: z.literal('b'), a: z.int().or(z.string()) })])
  const notText = 'rejects text, which every parameter is'
  test.each<[place: string, reason: string, ...schemas: z.core.$ZodType[]]>([
    ['request', coerce, ...coerced],
    ['parameter', coerce, ...coerced],
    ['request', bigint, z.int64(), z.bigint(), z.array(z.bigint().nullable())],
    ['request', isText, z.stringbool(), Page, Int64TextSchema],
    ['query', 'the default is not a value that a client can send', Page.default('x' as never), Hex.default(255)],
    ['parameter', 'the example "1" is not of the type integer', Int64TextSchema.meta({ examples: ['1'] })],
    ['query', 'does not read "true" and "false" as booleans; use z.enum()', z.stringbool({ truthy: ['on'] })],
    ['request', 'JSON Schema would round 9007199254740993', Int64Schema.default(big)],
    ['response', 'may be above int64', z.uint64()],
    ['response', changed, ...coerced],
    ['response', changed, Page, z.stringbool(), z.string().default('a')],
    ['response', changed, z.preprocess(String, z.string()), z.string().pipe(z.string()), z.string().transform(Number)],
    ['response', 'z.transform() is not supported; use z.codec() or .pipe()', z.transform(Number)],
    ['response', 'value.a: one alternative of a union has an int64 where another has something else', mixed],
    ['parameter', notText, z.number(), z.int(), z.int64(), z.boolean(), z.literal(['a', 1]), z.null(), z.object({})],
    ['parameter', notText, z.number().pipe(z.int())],
    ['parameter', 'a union is not supported in a parameter', Int64Schema, z.email().or(z.uuid())],
    ['parameter', 'is never null in a parameter, which is text; use .optional()', z.string().nullable()],
    ['query', text, z.string(), z.string().min(1).optional(), listOf(z.string()), z.string().regex(/^[^x]*$/), Text],
    ['pathParams', text, z.string(), z.string().brand('Tag'), z.string().transform(Number)],
    ['parameter', 'throws on "a" (Cannot convert a to a BigInt)', z.string().transform(BigInt)],
    ['parameter', 'throws on "a" (Encountered Promise', Slow],
    ['parameter', 'rejects a single item; use z.preprocess(', z.array(z.string())],
    ['query', `[]: ${notText}`, listOf(z.number())],
    ['headers', 'rejects a single item', listOf(z.string())],
    ['pathParams', 'is optional; make it required, or add an operation', TextSchema.optional()],
    ['headers', 'a header cannot have the value', ...['🌱', ' a', 'a\t', 'a\nb', 'ü'].map((value) => z.enum([value]))],
  ])('in a %s: %s', (place, reason, ...schemas) => {
    for (const schema of schemas) {
      for (const each of place === 'parameter' ? ['query', 'headers', 'pathParams'] : [place]) {
        expect(() => generate({ getBed: operationWith(each, schema as z.ZodType) })).toThrow(reason)
      }
    }
  })

  const header = (name: string) => ({ headers: { [name]: z.string() } })
  const response = (status: number, schema: unknown) => ({ responses: { ...responses, [status]: schema } })
  const paged = { metadata: { scope: 'read', paged: true } }
  const idempotent = { metadata: { scope: 'write', idempotent: true } }
  const removing = { ...response(404, ErrorSchema), method: 'DELETE' }
  const method = 'is not supported; use GET, POST, PUT, PATCH, DELETE'
  const metadata = 'metadata: must be an object with scope, tag, paged and idempotent only'
  const segments = 'must consist of segments that are text or :name; use query parameters'
  const id = z.object({ id: TextSchema })
  const png = 'has the content type image/png; only JSON is supported: send text as z.string(), bytes as z.base64()'
  const image = { contentType: 'image/png', body: z.string() }
  const zod = 'is not a schema of zod 4, which c.type() does not have; use z, or c.noBody()'
  const standard = { '~standard': { version: 1, vendor: 'other', validate: () => ({ value: 1 }) } }
  test.each<[reason: string, ...changes: object[]]>([
    ['query.toString: this name is not supported; rename it', { query: z.object({ toString: z.string().optional() }) }],
    ['query: takes parameters of any name; name each in a z.object()', { query: z.looseObject({}) }],
    ['query: must be a z.object() with a field', { query: z.record(z.string(), z.string()) }, { query: c.type() }],
    ['path: :id has no schema; add it to pathParams', { path: '/beds/:id' }],
    ['pathParams.id: is not in the path /beds; add :id to it', { pathParams: id }],
    [segments, ...['/beds/:id?', '/beds/*rest', '/beds?size=2', '/beds/:id.json'].map((path) => ({ path }))],
    ['is set by the client itself; remove it', ...['authorization', 'cookie', 'sec-purpose', 'user-agent'].map(header)],
    ['headers.X-Bed: has upper case letters; write it in lower case', header('X-Bed')],
    ['is not the name of a header', ...['x bed', 'größe', 'x:y', ''].map(header)],
    [method, ...['HEAD', 'OPTIONS', 'get'].map((name) => ({ method: name }))],
    ['body: a GET request has no body; use `query`', { body: z.string() }],
    [png, response(200, c.otherResponse(image)), { ...post, ...image }],
    ['body: is optional; make it required, or use c.noBody()', { ...post, body: z.string().optional() }],
    [zod, ...[null, c.type<string>(), standard].map((body) => ({ ...post, body }))],
    [zod, response(200, null), { headers: { a: c.type<string>() } }],
    ['response 204: has no body; use c.noBody()', response(204, z.string())],
    ['response 200: is optional; make it required', response(200, z.string().optional())],
    ['the SDK follows no redirect', ...[101, 302, 304].map((status) => response(status, c.noBody()))],
    ['must have a success status (2xx); add one', { responses: { 404: ErrorSchema } }, { responses: {} }],
    ['response 404: an error must have the body ErrorSchema', response(404, c.noBody()), response(404, z.object({}))],
    ['only a list can be paged; return a list, or remove', paged],
    ['query: a paged operation has an optional `limit`', { ...paged, responses: { 200: z.array(Thing) } }],
    [metadata, { metadata: undefined }, { metadata: { scope: 'read', idempotant: false } }],
    ["metadata.scope: must be 'read' or 'write'", { metadata: {} }, { metadata: { scope: 'admin' } }],
    ['metadata.idempotent: must be true or false', { metadata: { scope: 'read', idempotent: 'false' } }],
    ['is missing, and a POST is not idempotent by itself', { method: 'POST', body: c.noBody() }],
    ['is missing, and a PATCH is not idempotent by itself', { method: 'PATCH', body: c.noBody() }],
    ['must be false, since a DELETE whose response was lost gets the 404', removing],
    ['must be false, since a DELETE whose response was lost gets the 404', { ...removing, ...idempotent }],
    ['since a DELETE whose response was lost gets the 410', { ...removing, ...response(410, ErrorSchema) }],
    ['since a PUT whose response was lost gets the 412', { ...response(412, ErrorSchema), method: 'PUT' }],
    ['metadata.tag: must have a name and a description only', { metadata: { scope: 'read', tag: 'beds' } }],
  ])('in an operation: %s', (reason, ...changes) => {
    for (const change of changes) expect(() => generate({ getBed: { ...getBed, ...change } })).toThrow(reason)
  })

  const bed = { ...getBed, path: '/beds/:id', pathParams: id }
  const rows = { ...bed, path: '/beds/:id/rows' }
  const row = { ...rows, path: '/beds/:id/:row', pathParams: id.extend({ row: TextSchema }) }
  const other = { ...getBed, path: '/beds/:b', pathParams: z.object({ b: TextSchema }) }
  const count = { ...getBed, path: '/beds/count' }
  const merged = c.router({ getBed: { ...getBed, headers: id } } as never, { baseHeaders: id } as never)
  const GetBedError = z.object({}).meta({ id: 'GetBedError' })
  test.each<[reason: string, contract: Record<string, unknown>]>([
    ['The contract: has no operation; add one', {}],
    ['safe: the SDK uses this name; rename the operation', { safe: getBed }],
    ['get-bed: must be a name such as getPlant; rename the operation', { 'get-bed': getBed }],
    ['ApiError: the SDK or JavaScript uses this name', { api: getBed }],
    ['GetBedError: two types have this name', { getBed: { ...getBed, ...response(200, GetBedError) } }],
    ['beds: is not an operation; move the operations of a nested router to the top level', { beds: { getBed } }],
    ['readBed: getBed before it takes its requests', { getBed, readBed: getBed }],
    ['other: another operation has this path as /beds/{id}; use the same names of parameters', { bed, other }],
    ['count: bed before it takes its requests: GET /beds/:id also matches /beds/count; change', { bed, count }],
    ['rows: row before it takes its requests', { row, rows }],
    ['getBed: headers: ts-rest cannot merge the z.object() of a router and an operation; use records', merged],
  ])('in a contract: %s', (reason, contract) => {
    expect(() => generate(contract)).toThrow(reason)
  })

  test('no operations that a router can tell apart', () => {
    const inner = { ...count, path: '/beds/count/:rows', pathParams: z.object({ rows: TextSchema }) }
    generate({ count, bed })
    generate({ bed, count: { ...count, method: 'DELETE' } })
    generate({ rows, count: inner })
  })
})

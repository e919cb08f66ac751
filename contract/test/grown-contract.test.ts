/** The document describes every part of a contract, or the contract is rejected. */
import { Validator } from '@seriousme/openapi-schema-validator'
import { initContract } from '@ts-rest/core'
import { describe, expect, test } from 'vitest'
import * as z from 'zod'
import { ErrorSchema } from '../src/errors.ts'
import { createOpenApiDocument } from '../src/openapi.ts'
import { Int64Schema } from '../src/plants.ts'

const c = initContract()
const BedSchema = z.object({ size: z.int32() }).meta({ id: 'Bed' })

const route = { method: 'GET', path: '/beds', responses: { 200: BedSchema }, metadata: { scope: 'read' } }

async function describeRoute(changes: object) {
  const document = createOpenApiDocument({ operations: { x: { ...route, ...changes } } })
  const result = await new Validator().validate(JSON.parse(JSON.stringify(document)))
  expect(result).toEqual({ valid: true })
  const [methods = {}] = Object.values(document.paths ?? {})
  const [operation] = Object.values(methods)
  return { operation, schemas: document.components?.schemas ?? {} }
}

describe('the document of a grown contract has', () => {
  test('a response without content', async () => {
    const { operation } = await describeRoute({ method: 'DELETE', responses: { 204: c.noBody() } })
    expect(operation.responses[204]).toMatchObject({ description: 'Success.' })
    expect(operation.responses[204]).not.toHaveProperty('content')
  })

  test('the schema of errors, if no operation declares one', async () => {
    expect((await describeRoute({})).schemas).toHaveProperty('Error')
  })

  test('an operation without a body', async () => {
    const { operation } = await describeRoute({ method: 'POST', body: c.noBody() })
    expect(operation).not.toHaveProperty('requestBody')
  })

  test('every success status with its own body', async () => {
    const { operation } = await describeRoute({ responses: { 200: BedSchema, 201: z.array(BedSchema) } })
    expect(operation.responses[200].content['application/json'].schema).toEqual({ $ref: '#/components/schemas/Bed' })
    expect(operation.responses[201].content['application/json'].schema).toMatchObject({ type: 'array' })
  })

  test('error statuses as they are declared, also those that are not in the catalogue', async () => {
    const conflict = z.object({ reason: z.string() }).meta({ id: 'Conflict' })
    const { operation } = await describeRoute({ responses: { 200: BedSchema, 404: ErrorSchema, 409: conflict } })
    expect(operation.responses[409]).toMatchObject({
      description: 'Error.',
      content: { 'application/json': { schema: { $ref: '#/components/schemas/Conflict' } } },
    })
    expect(operation.responses[409].content['application/json']).not.toHaveProperty('examples')
    expect(operation.responses[404].description).toContain('40400')
    expect(operation.responses[404].content['application/json'].examples).toHaveProperty('notFound')
  })

  test.each([
    ['a record of schemas', { 'if-match': z.string(), 'idempotency-key': z.string().optional() }],
    ['a schema', z.object({ 'if-match': z.string(), 'idempotency-key': z.string().optional() })],
  ])('header parameters from %s', async (_, headers) => {
    const { operation } = await describeRoute({ headers })
    expect(operation.parameters).toEqual([
      { in: 'header', name: 'if-match', required: true, schema: { type: 'string' } },
      { in: 'header', name: 'idempotency-key', schema: { type: 'string' } },
    ])
  })

  test('every name and value that a header can have', async () => {
    const name = "!#$%&'*+-.^_`|~09az"
    const { operation } = await describeRoute({ headers: { [name]: z.enum(['a b', '', '!~']), x: z.stringbool() } })
    expect(operation.parameters).toMatchObject([{ name }, { name: 'x' }])
  })

  test('headers of the router, without those that an operation removes', async () => {
    const { y } = c.router(
      { y: { ...route, method: 'GET', path: '/y', headers: { b: null as never } } },
      { baseHeaders: { a: z.string(), b: z.string() } },
    )
    const { operation } = await describeRoute(y)
    expect(operation.parameters).toMatchObject([{ in: 'header', name: 'a' }])
  })

  test('deprecated operations, parameters and fields', async () => {
    const old = z.string().meta({ deprecated: true, description: 'An old field.' })
    const { operation, schemas } = await describeRoute({
      deprecated: true,
      query: z.object({ old: old.optional(), current: z.string() }),
      responses: { 200: z.object({ old: old.optional(), current: z.string() }).meta({ id: 'Bed' }) },
    })
    expect(operation.deprecated).toBe(true)
    expect(operation.parameters).toMatchObject([
      { name: 'old', deprecated: true, description: 'An old field.' },
      { name: 'current' },
    ])
    expect(operation.parameters[1]).not.toHaveProperty('deprecated')
    expect(schemas).toMatchObject({ Bed: { properties: { old: { deprecated: true }, current: { type: 'string' } } } })
    expect((await describeRoute({})).operation).not.toHaveProperty('deprecated')
  })

  test('records, and closed and open objects as they are declared', async () => {
    const fields = {
      counts: z.record(z.string(), z.bigint()),
      open: z.object({}),
      loose: z.looseObject({}),
      typed: z.object({}).catchall(z.boolean()),
    }
    const { schemas } = await describeRoute({ responses: { 200: z.object(fields).meta({ id: 'Bed' }) } })
    expect(schemas['Bed']).not.toHaveProperty('additionalProperties')
    expect((schemas['Bed'] as { properties: object }).properties).toMatchObject({
      counts: { additionalProperties: { type: 'integer', format: 'int64' } },
      open: expect.not.objectContaining({ additionalProperties: expect.anything() }),
      loose: { additionalProperties: {} },
      typed: { additionalProperties: { type: 'boolean' } },
    })
  })

  test('bounds, defaults and formats of numbers, bigints included', async () => {
    const fields = {
      id: z.bigint().positive().max(10n),
      step: z.int64().multipleOf(5n).default(5n),
      count: z.int32(),
      ratio: z.float64(),
      total: z.uint64(),
    }
    // With `override` a body may have bigints, which reject the numbers of JSON.
    const schema = z.object(fields).meta({ id: 'Body', override: {} })
    const { schemas } = await describeRoute({ method: 'POST', body: schema })
    expect((schemas['Body'] as { properties: object }).properties).toMatchObject({
      id: { type: 'integer', format: 'int64', exclusiveMinimum: 0, maximum: 10 },
      step: { type: 'integer', format: 'int64', multipleOf: 5, default: 5 },
      count: { type: 'integer', format: 'int32' },
      ratio: { type: 'number', format: 'double' },
      total: { type: 'integer', format: 'uint64' },
    })
  })

  const Page = z.codec(z.string(), z.int(), { decode: Number, encode: String })
  test.each<[string, z.core.$ZodType, object]>([
    [
      'a transform',
      z
        .string()
        .transform(Number)
        .meta({ examples: ['1'] }),
      { examples: ['1'] },
    ],
    ['an optional codec', Page.meta({ examples: ['1'] }).optional(), { examples: ['1'] }],
    ['a preprocessed value', z.preprocess(String, z.string()).meta({ examples: ['a'] }), { examples: ['a'] }],
    [
      'a switch',
      z
        .stringbool()
        .default(false)
        .meta({ examples: ['yes'] }),
      { default: 'false', examples: ['yes'] },
    ],
    ['a codec', Page.default(3), { type: 'string', default: '3' }],
    ['a described codec', Page.meta({ override: { type: 'integer' } }).default(3), { type: 'integer', default: 3 }],
    ['an id', Int64Schema.default(3n), { type: 'integer', default: 3 }],
    ['an object', z.object({ id: Int64Schema }).default({ id: 3n }), { type: 'object', default: { id: 3 } }],
    ['an object of codecs', z.object({ page: Page }).default({ page: 3 }), { default: { page: '3' } }],
    ['an object before zod', z.object({ id: Int64Schema }).prefault({ id: 3n }), { default: { id: 3 } }],
    ['a list', z.preprocess(Array, z.array(z.coerce.bigint())).default([3n]), { type: 'array', default: [3] }],
    ['a date', z.iso.datetime().pipe(z.coerce.date()).default(new Date(0)), { default: '1970-01-01T00:00:00.000Z' }],
  ])('examples and defaults of %s, as they are sent', async (_, schema, expected) => {
    const { operation } = await describeRoute({ method: 'POST', body: z.object({ value: schema }) })
    expect(operation.requestBody.content['application/json'].schema.properties.value).toMatchObject(expected)
  })

  test('no default of a transform, which has no form that is sent', async () => {
    const body = z.object({ value: z.string().transform(Number).default(3) })
    const { operation } = await describeRoute({ method: 'POST', body })
    expect(operation.requestBody.content['application/json'].schema.properties).toEqual({ value: { type: 'string' } })
  })

  test('the fallback of an id in a response', async () => {
    const { operation } = await describeRoute({ responses: { 200: z.object({ id: Int64Schema.catch(0n) }) } })
    const { schema } = operation.responses[200].content['application/json']
    expect(schema.properties).toEqual({ id: { type: 'integer', format: 'int64', default: 0 } })
  })

  test('closed objects in requests only, and no read-only fields', async () => {
    const schema = z.strictObject({ names: z.array(z.string()).readonly() })
    const { operation } = await describeRoute({ method: 'POST', body: schema, responses: { 200: schema } })
    const sent = operation.requestBody.content['application/json'].schema
    const received = operation.responses[200].content['application/json'].schema
    expect(sent).toMatchObject({ additionalProperties: false })
    expect(received).not.toHaveProperty('additionalProperties')
    expect(JSON.stringify([sent, received])).not.toContain('readOnly')
  })

  test('the scope, and no tag or Link where the operation has none', async () => {
    const { operation } = await describeRoute({})
    expect(operation.security).toEqual([{ bearer: ['read'] }])
    expect(operation).not.toHaveProperty('tags')
    expect(operation.responses[200].headers).not.toHaveProperty('Link')
    const { operation: paged } = await describeRoute({ metadata: { scope: 'read', paged: true } })
    expect(paged.responses[200].headers).toHaveProperty('Link')
  })
})

describe('the document rejects', () => {
  test.each<[string, object, string]>([
    [
      'a body that is not JSON',
      { method: 'POST', body: BedSchema, contentType: 'multipart/form-data' },
      'x: body: has the content type multipart/form-data; only JSON is supported, so remove contentType',
    ],
    ['a method that ts-rest does not serve', { method: 'HEAD' }, 'x: the method HEAD is not supported; use GET, POST'],
    ['a method in lower case', { method: 'get' }, 'x: the method get is not supported; use GET, POST'],
    ['no metadata', { metadata: undefined }, 'x: metadata: must be an object with scope, tag, paged and idempotent'],
    ['no scope', { metadata: {} }, "x: metadata.scope: must be 'read' or 'write'"],
    ['an unknown scope', { metadata: { scope: 'admin' } }, "x: metadata.scope: must be 'read' or 'write'"],
    [
      'unknown metadata',
      { metadata: { scope: 'read', idempotant: false } },
      'x: metadata: must be an object with scope, tag, paged and idempotent only; remove idempotant',
    ],
    [
      'metadata that is text',
      { metadata: { scope: 'read', idempotent: 'false' } },
      'x: metadata.idempotent: must be true or false',
    ],
    [
      'a tag that is text',
      { metadata: { scope: 'read', tag: 'beds' } },
      'x: metadata.tag: must have a name and a description only',
    ],
    ['a body of a GET request', { body: BedSchema }, 'x: body: a GET request has no body; use `query`'],
    [
      'an optional body',
      { method: 'POST', body: BedSchema.optional() },
      'x: body: is optional; make it required, or use c.noBody()',
    ],
    [
      'a body without a schema',
      { method: 'POST', body: c.type<string>() },
      'x: body: c.type() has no schema at run time; use a zod schema',
    ],
    ['a body that is null', { method: 'POST', body: null }, 'x: body: is null; use c.noBody()'],
    [
      'a response that is not JSON',
      { responses: { 200: c.otherResponse({ contentType: 'text/csv', body: z.string() }) } },
      'x: response 200: has the content type text/csv; only JSON is supported, so use a zod schema',
    ],
    [
      'a response without a schema',
      { responses: { 200: c.type<string>() } },
      'x: response 200: c.type() has no schema',
    ],
    ['an optional response', { responses: { 200: BedSchema.optional() } }, 'x: response 200: is optional'],
    [
      'a response of undefined',
      { responses: { 200: z.undefined() } },
      'x: response 200: z.undefined() is not JSON; use c.noBody()',
    ],
    ['a body with status 204', { responses: { 204: BedSchema } }, 'x: response 204: has no body; use c.noBody()'],
    [
      'a schema of another library',
      { responses: { 200: { '~standard': { version: 1, vendor: 'other', validate: () => ({ value: 1 }) } } } },
      'x: response 200: is not a schema of zod 4; use one',
    ],
    [
      'query parameters of any name',
      { query: z.looseObject({}) },
      'x: query: takes parameters of any name; name each in a z.object()',
    ],
    ['a query that is not an object', { query: z.record(z.string(), z.string()) }, 'x: query: must be a z.object()'],
    ['a query without a schema', { query: c.type<{ a: string }>() }, 'x: query: c.type() has no schema at run time'],
    [
      'a header without a schema',
      { headers: { a: c.type<string>() } },
      'x: headers.a: c.type() has no schema at run time',
    ],
    [
      'a header that the client sets itself',
      { headers: { authorization: z.string() } },
      'x: headers.authorization: is set by the client itself; remove it',
    ],
    ['a header that fetch sets', { headers: { 'sec-purpose': z.string() } }, 'x: headers.sec-purpose: is set by'],
    ...['user-agent', 'content-encoding', 'set-cookie'].map((name): [string, object, string] => [
      `the header ${name}`,
      { headers: { [name]: z.string() } },
      `x: headers.${name}: is set by the client itself; remove it`,
    ]),
    ...['x tenant', 'größe', 'x:y', ''].map((name): [string, object, string] => [
      `the header "${name}"`,
      { headers: { [name]: z.string() } },
      `x: headers.${name}: is not the name of a header; use letters, digits and hyphens`,
    ]),
    ...['🌱', ' a', 'a\t', 'a\nb', 'ü'].map((value): [string, object, string] => [
      `a header with the value ${JSON.stringify(value)}`,
      { headers: { a: z.enum(['b', value]).optional() } },
      `x: headers.a: a header cannot have the value "${value}"; use ASCII without spaces at the ends`,
    ]),
    ['a literal that no header can be', { headers: { a: z.literal('a ') } }, 'x: headers.a: a header cannot have'],
    [
      'a header in upper case, which the server would not find',
      { headers: { 'X-Bed': z.string() } },
      'x: headers.X-Bed: has upper case letters; write it in lower case',
    ],
    ['a path parameter without a schema', { path: '/beds/:id' }, 'x: path: :id has no schema; add it to pathParams'],
    [
      'a path parameter that is not in the path',
      { pathParams: z.object({ id: z.string() }) },
      'x: pathParams.id: is not in the path /beds; add :id to it',
    ],
    [
      'an optional path parameter',
      { path: '/beds/:id', pathParams: z.object({ id: z.string().optional() }) },
      'x: pathParams.id: is optional; make it required, or add an operation',
    ],
    [
      'a pattern as a path',
      { path: '/beds/*rest' },
      'x: path: /beds/*rest must consist of segments that are text or :name',
    ],
  ])('%s', (_, changes, reason) => {
    expect(() => createOpenApiDocument({ operations: { x: { ...route, ...changes } } })).toThrow(reason)
  })

  const value = 2n ** 53n
  test.each<[string, z.core.$ZodType]>([
    ['z.custom() is not JSON; use another schema with .refine()', z.instanceof(Uint8Array)],
    ['z.date() is not JSON; use z.iso.datetime()', z.coerce.date()],
    ['z.file() is not JSON; use z.base64()', z.file()],
    ['z.function() is not JSON; remove it', z.function()],
    ['z.map() is not JSON; use z.record()', z.map(z.string(), z.string())],
    ['z.nan() is not JSON; use z.number()', z.nan()],
    ['z.promise() is not JSON; use the schema of its value', z.promise(z.string())],
    ['z.set() is not JSON; use z.array()', z.set(z.string())],
    ['z.symbol() is not JSON; use z.string()', z.symbol()],
    ['z.success() is not JSON; use the schema itself', z.success(z.string())],
    ['z.undefined() is not JSON; use .optional()', z.undefined()],
    ['z.void() is not JSON; use .optional()', z.void()],
    ['undefined is not JSON; use .optional()', z.literal(['a', undefined])],
    ['JSON Schema would round 9007199254740992; use .refine() and describe it in words', z.literal(value)],
    ['JSON Schema would round 9007199254740992;', z.bigint().max(value)],
    ['JSON Schema would round 9007199254740992;', z.bigint().default(value)],
    ['JSON Schema would round 9007199254740993;', z.object({ id: z.bigint() }).default({ id: value + 1n })],
    ['an example has a bigint; write it as a number', z.bigint().meta({ examples: [1n] })],
    ['an example has a bigint;', z.object({ id: z.bigint() }).meta({ examples: [{ id: 1n }] })],
    ['has optional items, but JSON has none; use .nullable()', z.array(z.string().optional())],
    ['has optional items, but JSON has none;', z.array(z.string().optional().nullable().readonly())],
    ['JSON Schema has no regular expression flags; write the pattern without the flag i', z.string().regex(/a/i)],
  ])('in a request and a response: %s', (reason, schema) => {
    const [request, response] = [z.object({ a: schema }), z.object({ list: z.array(z.object({ a: schema })) })]
    const create = (changes: object) => () => createOpenApiDocument({ operations: { x: { ...route, ...changes } } })
    expect(create({ method: 'POST', body: request })).toThrow(`x: body.a: ${reason}`)
    expect(create({ query: request })).toThrow(`x: query.a: ${reason}`)
    expect(create({ responses: { 200: response } })).toThrow(`x: response 200.list[].a: ${reason}`)
  })

  const date = z.date()
  test.each<[string, z.core.$ZodType]>([
    ['.a', z.object({ a: date.nullable().optional() })],
    ['.*', z.object({}).catchall(date)],
    ['.*', z.record(z.string(), date)],
    ['[1]', z.tuple([z.string(), date])],
    ['[]', z.tuple([z.string()], date)],
    ['', z.union([z.string(), date])],
    ['.a', z.intersection(z.object({ b: z.string() }), z.object({ a: date }))],
    ['', z.lazy(() => date)],
    ['', z.string().pipe(date as never)],
    ['', z.preprocess(String, date)],
    ['', date.default(new Date(0)).readonly().catch(new Date(0))],
  ])('what is not JSON at %s of a response', (place, schema) => {
    const create = () => createOpenApiDocument({ operations: { x: { ...route, responses: { 200: schema } } } })
    expect(create).toThrow(`x: response 200${place}: z.date() is not JSON`)
  })

  test('a transform in a response, but not in a request', async () => {
    const schema = z.object({ a: z.string().transform(Number) })
    const { operation } = await describeRoute({ method: 'POST', body: schema })
    expect(operation.requestBody.content['application/json'].schema.properties).toEqual({ a: { type: 'string' } })
    await expect(describeRoute({ responses: { 200: schema } })).rejects.toThrow(
      'x: response 200.a: z.transform() is not JSON; use z.codec() or .pipe()',
    )
  })

  test.each<[string, z.core.$ZodType]>([
    ['z.codec()', z.codec(z.string(), z.int(), { decode: Number, encode: String })],
    ['z.stringbool()', z.stringbool()],
    ['z.pipe()', z.string().pipe(z.string().min(1))],
    ['z.preprocess()', z.preprocess(String, z.string())],
    ['a default', z.string().default('a')],
    ['a prefault', z.string().prefault('a')],
    ['coercion', z.coerce.number()],
  ])('%s in a response, which is sent as the handler returns it', (_, schema) => {
    const responses = { 200: z.object({ a: schema }) }
    expect(() => createOpenApiDocument({ operations: { x: { ...route, responses } } })).toThrow(
      'x: response 200.a: is sent as the handler returns it, before zod changes it; use the schema of what is sent',
    )
    const body = z.object({ a: schema })
    createOpenApiDocument({ operations: { x: { ...route, method: 'POST', body } } })
  })

  test('a bigint in a body, which rejects the numbers of JSON', () => {
    const create = (schema: z.core.$ZodType) => () =>
      createOpenApiDocument({ operations: { x: { ...route, method: 'POST', body: z.array(schema) } } })
    for (const schema of [z.bigint(), z.int64(), z.bigint().nullable()]) {
      expect(schema.safeParse(1).success).toBe(false)
      expect(create(schema)).toThrow(
        'x: body[]: rejects integers below 2^53, which are numbers in JSON; use Int64Schema',
      )
    }
    expect(create(z.literal(1n))).toThrow('x: body[]: rejects the numbers of JSON; use a number as the literal')
    expect(Int64Schema.safeParse(1).success).toBe(true)
    create(Int64Schema)()
    create(z.coerce.bigint())()
  })

  const toList = (value: unknown) => [value].flat()
  test.each<[string, string, z.core.$ZodType]>([
    ['numbers', ': rejects text, which every parameter is', z.number()],
    ['optional integers', ': rejects text', z.int32().optional()],
    ['bigints', ': rejects text', z.bigint()],
    ['bigints that are described', ': rejects text', z.int64().meta({ override: { type: 'integer' } })],
    ['booleans', ': rejects text', z.boolean()],
    ['unions of them', ': rejects text', z.union([z.number(), z.boolean()])],
    ['literals that are not text', ': rejects text', z.literal(['a', 1])],
    ['functions that throw', ': throws on the text "a" (Cannot convert a to a BigInt)', z.string().transform(BigInt)],
    ['URLs', ': throws on the text "a" (Invalid URL)', z.string().transform((text) => new URL(text))],
    ['JSON', ': throws on the text "a" (Unexpected token', z.string().transform((text) => JSON.parse(text))],
    [
      'asynchronous checks',
      ': is asynchronous, but ts-rest validates synchronously',
      z.string().refine(async () => true),
    ],
    ['lists of numbers', '[]: rejects text', z.preprocess(toList, z.array(z.number()))],
    [
      'lists',
      ': rejects a single item; use z.preprocess((value) => [value].flat(), z.array(...))',
      z.array(z.string()),
    ],
    ['coerced booleans', ': reads "false" as true; use z.stringbool()', z.coerce.boolean()],
  ])('%s as a parameter, which is text', (_, reason, schema) => {
    const create = (changes: object) => () => createOpenApiDocument({ operations: { x: { ...route, ...changes } } })
    expect(create({ query: z.object({ a: schema }) })).toThrow(`x: query.a${reason}`)
    expect(create({ headers: { a: schema } })).toThrow(`x: headers.a${reason}`)
    if (reason.includes('item') || schema._zod.optin) return
    expect(create({ path: '/:a', pathParams: z.object({ a: schema }) })).toThrow(`x: pathParams.a${reason}`)
  })

  test.each<[string, z.core.$ZodType]>([
    ['text', z.string().min(5).optional()],
    ['coerced numbers', z.coerce.number().int().min(5)],
    ['coerced bigints', z.coerce.bigint()],
    ['codecs', z.codec(z.string().regex(/^x\d+$/), z.int(), { decode: Number, encode: String })],
    ['booleans of text', z.stringbool({ truthy: ['yes'], falsy: ['no'] })],
    ['enums', z.enum(['b', 'c'])],
    ['coerced literals', z.coerce.number().pipe(z.literal([1, 2, 3]))],
    ['lists of coerced literals', z.preprocess(toList, z.array(z.coerce.number().pipe(z.literal([1, 2]))))],
    ['functions of checked text', z.url().transform((text) => new URL(text))],
    ['bigints of checked text', z.string().regex(/^\d+$/).transform(BigInt)],
    ['lists of one or more', z.preprocess(toList, z.array(z.coerce.number())).optional()],
  ])('no parameters that are %s', (_, schema) => {
    createOpenApiDocument({ operations: { x: { ...route, query: z.object({ a: schema }) } } })
  })

  test('no list that is required, which zod takes for optional', async () => {
    const list = z.preprocess(toList, z.array(z.string())).meta({ description: 'Names.' })
    const { operation } = await describeRoute({ query: z.object({ a: list, b: list.optional() }) })
    const schema = { description: 'Names.', type: 'array', items: { type: 'string' } }
    expect(operation.parameters).toEqual([
      { in: 'query', name: 'a', required: true, schema, description: 'Names.' },
      { in: 'query', name: 'b', schema, description: 'Names.' },
    ])
  })

  test('nothing that metadata describes', async () => {
    const schema = z.object({ a: z.date().meta({ override: { type: 'string', format: 'date-time' } }) })
    await describeRoute({ responses: { 200: schema } })
  })

  test('nothing in a recursive schema with a name', async () => {
    const Node = z.object({
      get next() {
        return Node.optional()
      },
    })
    await describeRoute({ responses: { 200: Node.register(z.globalRegistry, { id: 'Node' }) } })
  })

  test('two components with one name, also in a request and a response', () => {
    const [one, other] = ['a', 'b'].map((name) => z.object({ [name]: z.string() }).meta({ id: 'Row' }))
    const create = (operations: object) => () => createOpenApiDocument({ operations: { ...operations } })
    const [x, y] = [
      { ...route, method: 'POST', body: z.object({ rows: z.array(one as z.ZodType) }) },
      { ...route, path: '/rows', responses: { 200: z.object({ row: other?.optional() }) } },
    ]
    const reason = 'another schema has the id Row; use one schema, or rename one'
    expect(create({ x, y })).toThrow(`y: response 200.row: ${reason}`)
    expect(create({ x: { ...x, responses: y.responses } })).toThrow(`x: response 200.row: ${reason}`)
    expect(create({ y: { ...y, responses: { 200: z.object({ one, other }) } } })).toThrow('y: response 200')
    expect(create({ y: { ...y, responses: { 200: z.object({}).meta({ id: 'Error' }) } } })).toThrow(
      'y: response 200: another schema has the id Error',
    )
    create({ x: { ...x, responses: { 200: z.array(one as z.ZodType) } } })()
  })

  test('metadata that is not JSON', () => {
    const schema = z.string().meta({ 'x-first': 1n })
    const create = (changes: object) => () => createOpenApiDocument({ operations: { x: { ...route, ...changes } } })
    const reason = 'JSON Schema cannot express it; change its schema or metadata (Error converting schema to JSON.)'
    expect(create({ responses: { 200: z.array(schema) } })).toThrow(`x: response 200: ${reason}`)
    expect(create({ method: 'POST', body: z.array(schema) })).toThrow(`x: body: ${reason}`)
    expect(create({ query: z.object({ a: schema }) })).toThrow(`x: query.a: ${reason}`)
  })

  test('a recursive schema without a name', () => {
    const Node = z.object({
      get next() {
        return z.array(Node)
      },
    })
    expect(() => createOpenApiDocument({ operations: { x: { ...route, responses: { 200: Node } } } })).toThrow(
      'x: response 200.next[]: contains itself; refer to the inner one by its id',
    )
  })

  test('no list of items with a default', () => {
    const body = z.array(z.string().default('a'))
    createOpenApiDocument({ operations: { x: { ...route, method: 'POST', body } } })
  })

  test('a nested router', () => {
    expect(() => createOpenApiDocument({ operations: { beds: { x: route } } })).toThrow(
      'beds: is not an operation; move the operations of a nested router to the top level',
    )
  })

  test('two object schemas of headers, which ts-rest merges into nothing', () => {
    const headers = z.object({ a: z.string() })
    const operations = c.router({ x: { ...route, method: 'GET', headers } } as never, { baseHeaders: headers } as never)
    expect(() => createOpenApiDocument({ operations })).toThrow(
      'x: headers: ts-rest cannot merge the z.object() of a router and an operation; use records of schemas',
    )
  })

  test('a path with other names of parameters, which is the same to a server', () => {
    const [x, y] = ['x', 'y'].map((name) => {
      const pathParams = z.object({ [name]: z.string() })
      return { ...route, path: `/beds/:${name}/rows`, pathParams }
    })
    expect(() => createOpenApiDocument({ operations: { x, y } })).toThrow(
      'y: another operation has this path as /beds/{x}/rows; use the same names of parameters',
    )
  })

  test('an operation that an earlier one hides', () => {
    const pathParams = z.object({ id: z.string() })
    const [bed, count] = [
      { ...route, path: '/beds/:id', pathParams },
      { ...route, path: '/beds/count' },
    ]
    const create = (operations: object) => () => createOpenApiDocument({ operations: { ...operations } })
    expect(create({ bed, count })).toThrow(
      'count: bed before it takes its requests: GET /beds/:id also matches /beds/count; move count before bed',
    )
    const rows = { ...route, path: '/beds/:id/rows', pathParams }
    expect(
      create({ row: { ...rows, path: '/beds/:id/:row', pathParams: pathParams.extend({ row: z.string() }) }, rows }),
    ).toThrow('rows: row before it takes its requests')
    for (const operations of [
      { count, bed },
      { bed, count: { ...count, method: 'DELETE' } },
      { bed, rows },
      { rows, count: { ...count, path: '/beds/count/:rows', pathParams: z.object({ rows: z.string() }) } },
    ]) {
      create(operations)()
    }
  })

  test('two operations with the same method and path', () => {
    expect(() => createOpenApiDocument({ operations: { x: route, y: route } })).toThrow(
      'y: another operation is GET /beds; change it',
    )
  })
})

import { Validator } from '@seriousme/openapi-schema-validator'
import { initContract } from '@ts-rest/core'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import * as z from 'zod'
import { codePoint } from '../../test/helpers/code-points.ts'
import { contract } from '../src/contract.ts'
import { type ErrorName, ErrorSchema, errorCatalogue, statusOf } from '../src/errors.ts'
import { createOpenApiDocument } from '../src/openapi.ts'
import { Int64Schema, Int64TextSchema, NewPlantSchema, PlantSchema } from '../src/plants.ts'

/** The document as it is served. */
const document = JSON.parse(JSON.stringify(createOpenApiDocument({ serverUrl: 'https://plants.example.com' })))
const { post, get } = document.paths['/plants']
const operations = [post, get]
const errorResponses: [string, typeof document][] = operations.flatMap(({ responses }) =>
  Object.entries(responses).filter(([status]) => Number(status) >= 400),
)

interface Schema {
  properties?: Record<string, Schema>
  examples?: unknown[]
  pattern?: string
}

function componentOf(name: string): Schema {
  return document.components.schemas[name]
}

test('the OpenAPI document is valid OpenAPI 3.1 under an independent validator', async () => {
  const validator = new Validator()
  const result = await validator.validate(document)
  expect(result).toEqual({ valid: true })
  expect(validator.version).toBe('3.1')
})

test('the document has the specified version, paths, operations and components', () => {
  expect(document.info.version).toBe('1.0.0')
  expect(document.servers).toEqual([{ url: 'https://plants.example.com' }])
  expect(operations.map(({ operationId }) => operationId)).toEqual(Object.keys(contract))
  expect([post.operationId, post.summary]).toEqual(['createPlant', 'Create Plant'])
  expect([get.operationId, get.summary]).toEqual(['getPlants', 'Get Plants'])
  expect(Object.keys(document.components.schemas ?? {})).toEqual(expect.arrayContaining(['Error', 'NewPlant', 'Plant']))
})

test('every operation requires a bearer token with its scope', () => {
  expect(document.components.securitySchemes).toMatchObject({ bearer: { type: 'http', scheme: 'bearer' } })
  expect(document.security).toEqual([{ bearer: [] }])
  expect(post.security).toEqual([{ bearer: ['write'] }])
  expect(get.security).toEqual([{ bearer: ['read'] }])
})

test('createPlant requires a NewPlant and responds with a Plant; getPlants responds with an array of Plant', () => {
  expect(post.requestBody).toEqual({
    required: true,
    content: { 'application/json': { schema: { $ref: '#/components/schemas/NewPlant' } } },
  })
  expect(post.responses['200'].content['application/json'].schema).toEqual({ $ref: '#/components/schemas/Plant' })
  expect(get.responses['200'].content['application/json'].schema).toEqual({
    type: 'array',
    items: { $ref: '#/components/schemas/Plant' },
  })
})

test('every error response is an Error and lists its error codes', () => {
  for (const [status, response] of errorResponses) {
    expect(response.content['application/json'].schema).toEqual({ $ref: '#/components/schemas/Error' })
    expect(response.description).toContain(`${status}0`)
  }
})

test('every error response has an example of each of its errors', () => {
  for (const [status, response] of errorResponses) {
    const names = Object.keys(errorCatalogue).filter((name) => String(statusOf(name as ErrorName)) === status)
    const { examples } = response.content['application/json']
    expect([status, Object.keys(examples)]).toEqual([status, names])
    for (const name of names as ErrorName[]) {
      expect(examples[name].value).toEqual({ error: errorCatalogue[name].code, message: errorCatalogue[name].reason })
      expect(ErrorSchema.parse(examples[name].value)).toBeDefined()
    }
  }
  expect(Object.keys(post.responses['401'].content['application/json'].examples)).toEqual([
    'tokenMissing',
    'tokenInvalid',
    'tokenEnded',
  ])
})

test('the headers of responses are typed as what they are', () => {
  for (const status of ['429', '503']) {
    expect(get.responses[status].headers['Retry-After']).toMatchObject({
      required: true,
      schema: { type: 'integer', minimum: 0 },
    })
  }
  expect(Object.keys(get.responses['200'].headers)).toEqual(['X-Request-Id', 'Link', 'RateLimit-Policy', 'RateLimit'])
  expect(Object.keys(post.responses['403'].headers)).toEqual(['X-Request-Id', 'WWW-Authenticate'])
})

test('every operation has a tag that the document describes, and the document has a contact', () => {
  expect([post.tags, get.tags]).toEqual([['plants'], ['plants']])
  expect(document.tags).toEqual([{ name: 'plants', description: expect.stringMatching(/.{10,}/) }])
  expect(document.info.contact).toEqual({ name: 'Plant Store maintainers' })
})

test('the document tells users of other generators about ids above 2^53', () => {
  expect(document.info.description).toMatch(/Above 2\^53 .* round them/)
})

test('every field has its specified type and format, and a description', () => {
  const { Plant, NewPlant, Error: ErrorComponent } = document.components.schemas ?? {}
  const text = { type: 'string' }
  expect(Plant).toMatchObject({ type: 'object', required: ['name'], properties: { name: text, tag: text } })
  expect(Object.keys((Plant as { properties: object }).properties)).toEqual(['name', 'tag'])
  expect(NewPlant).toMatchObject({
    type: 'object',
    required: ['id', 'name'],
    properties: { id: { type: 'integer', format: 'int64' }, name: text, tag: text },
  })
  expect(ErrorComponent).toMatchObject({
    required: ['error', 'message'],
    properties: { error: { type: 'integer', format: 'int32' }, message: { type: 'string' } },
  })
  for (const schema of [Plant, NewPlant, ErrorComponent]) {
    expect(schema).toHaveProperty('description')
    expect(schema).not.toHaveProperty('additionalProperties')
    for (const property of Object.values((schema as { properties: object }).properties)) {
      expect(property.description).toMatch(/.{10,}/)
      expect(property).not.toHaveProperty('anyOf')
    }
  }
})

describe('the pattern of texts', () => {
  const fields = (name: string) => Object.values(componentOf(name).properties ?? {})
  const pattern = fields('NewPlant')[1]?.pattern ?? ''
  const flags = ['', 'u', 'v', 's', 'su']

  test('is in requests, not in responses', () => {
    expect(fields('NewPlant').map((field) => field.pattern)).toEqual([undefined, pattern, pattern])
    for (const field of [...fields('Plant'), ...fields('Error')]) expect(field).not.toHaveProperty('pattern')
  })

  test('is text without control characters, so that generated source has none', () => {
    expect(pattern).toMatch(/^[\x20-\x7e]+$/)
  })

  test('has the verdict of the service, with and without the u flag', () => {
    const units = fc.oneof(
      fc.string({ unit: codePoint }),
      fc.constantFrom('', '\0', '\n', '\u2028', '🌱', '\ud83c', '\udf31', '\udf31\ud83c', '\ud83c\ud83c\udf31'),
      fc.integer({ min: 0xd7ff, max: 0xe000 }).map((unit) => String.fromCharCode(unit)),
    )
    fc.assert(
      fc.property(fc.array(units), (parts) => {
        const name = parts.join('')
        const { success } = NewPlantSchema.safeParse({ id: 1, name })
        for (const flag of flags) expect(new RegExp(pattern, flag).test(name)).toBe(success)
      }),
      { numRuns: 1000 },
    )
  })

  test('can check a text of the largest body', () => {
    const text = `${'🌱ab'.repeat(2 ** 17)}`
    for (const flag of flags) {
      expect(new RegExp(pattern, flag).test(text)).toBe(true)
      expect(new RegExp(pattern, flag).test(`${text}\0`)).toBe(false)
    }
  })
})

test('the examples of the fields of NewPlant are a valid NewPlant', () => {
  const { properties = {} } = componentOf('NewPlant')
  const body = Object.fromEntries(Object.entries(properties).map(([name, { examples }]) => [name, examples?.[0]]))
  expect(NewPlantSchema.parse(body)).toEqual({
    id: expect.any(BigInt),
    name: expect.stringMatching(/./),
    tag: expect.stringMatching(/./),
  })
})

test('getPlants takes an optional limit, 1 to 1000, and an optional cursor', () => {
  const find = (name: string) => get.parameters.find((parameter: { name: string }) => parameter.name === name)
  expect(find('limit')).toMatchObject({ in: 'query', schema: { type: 'integer', minimum: 1, maximum: 1000 } })
  expect(find('cursor')).toMatchObject({ in: 'query', schema: { type: 'string' } })
  for (const parameter of get.parameters) expect(parameter).not.toHaveProperty('required', true)
})

describe('an operation added to the contract', () => {
  const c = initContract()
  const added = { method: 'GET', path: '/beds', responses: { 200: PlantSchema }, metadata: { scope: 'read' } }
  const old = z.enum(['a']).meta({ deprecated: true, description: 'An old field.' })
  const bed = z.strictObject({ names: z.array(z.string()).min(1).max(3).readonly(), old: old.optional() })
  const bounds = z.object({ id: z.int64(), count: z.int32(), ratio: z.float64() })
  const content = (schema: object) => ({ content: { 'application/json': { schema } } })

  test.each<[string, object, object]>([
    [
      'parameters, deprecated or required',
      {
        path: '/beds/:bed',
        pathParams: z.object({ bed: Int64TextSchema }),
        query: z.object({ old: old.optional(), list: z.preprocess((value) => [value].flat(), z.array(z.email())) }),
        headers: { 'if-match': z.string().optional() },
      },
      {
        parameters: [
          { in: 'path', name: 'bed', required: true, schema: { type: 'integer', format: 'int64' } },
          {
            ...{ in: 'query', name: 'old', deprecated: true, description: 'An old field.' },
            schema: { enum: ['a'], deprecated: true, description: 'An old field.' },
          },
          { in: 'query', name: 'list', required: true, schema: { type: 'array', items: { format: 'email' } } },
          { in: 'header', name: 'if-match', schema: { type: 'string' } },
        ],
      },
    ],
    [
      'no content',
      { responses: { 204: c.noBody() } },
      { responses: { 204: expect.not.objectContaining({ content: {} }) } },
    ],
    [
      'a closed body',
      { method: 'POST', body: bed },
      {
        requestBody: content({
          type: 'object',
          properties: {
            names: { type: 'array', items: { type: 'string' }, minItems: 1, maxItems: 3 },
            old: { enum: ['a'], deprecated: true, description: 'An old field.' },
          },
          required: ['names'],
          additionalProperties: false,
        }),
      },
    ],
    [
      'an open response',
      { responses: { 200: bed } },
      {
        responses: {
          200: {
            content: { 'application/json': { schema: expect.not.objectContaining({ additionalProperties: false }) } },
          },
        },
      },
    ],
    [
      'formats of numbers',
      { responses: { 200: bounds } },
      {
        responses: {
          200: content({
            properties: {
              id: { type: 'integer', format: 'int64' },
              count: { type: 'integer', format: 'int32' },
              ratio: { type: 'number', format: 'double' },
            },
          }),
        },
      },
    ],
    [
      'a record',
      { responses: { 200: z.record(z.string(), Int64Schema) } },
      {
        responses: { 200: content({ additionalProperties: { type: 'integer', format: 'int64' } }) },
      },
    ],
    [
      'several statuses',
      { responses: { 200: PlantSchema, 201: z.array(PlantSchema), 404: ErrorSchema } },
      {
        responses: {
          200: content({ $ref: '#/components/schemas/Plant' }),
          201: content({ items: { $ref: '#/components/schemas/Plant' } }),
          404: {
            description: expect.stringContaining('40400'),
            content: { 'application/json': { examples: { notFound: {} } } },
          },
        },
      },
    ],
    [
      'one component for a request and a response',
      { method: 'POST', body: PlantSchema },
      {
        requestBody: content({ $ref: '#/components/schemas/Plant' }),
        responses: { 200: content({ $ref: '#/components/schemas/Plant' }) },
      },
    ],
    ['its deprecation, and no tag', { deprecated: true }, { deprecated: true, security: [{ bearer: ['read'] }] }],
  ])('has %s in a valid document', async (_, changes, expected) => {
    const document = createOpenApiDocument({ operations: { x: { ...added, ...changes } } })
    expect(await new Validator().validate(JSON.parse(JSON.stringify(document)))).toEqual({ valid: true })
    const [operation] = Object.values(document.paths).flatMap((methods) => Object.values(methods))
    expect(operation).toMatchObject(expected)
    expect(operation).not.toHaveProperty('tags')
    expect(document.components.schemas).toHaveProperty('Error')
  })

  test('describes a component as it is sent, wherever it comes first', () => {
    const read = { getX: { ...added, path: '/x' } }
    const write = { putX: { ...added, path: '/x', method: 'PUT', body: PlantSchema } }
    for (const operations of [
      { ...read, ...write },
      { ...write, ...read },
    ]) {
      const { schemas } = createOpenApiDocument({ operations }).components
      expect(schemas['Plant']?.properties?.['name']).toHaveProperty('pattern')
    }
    const { schemas } = createOpenApiDocument({ operations: read }).components
    expect(schemas['Plant']?.properties?.['name']).not.toHaveProperty('pattern')
  })
})

import { Validator } from '@seriousme/openapi-schema-validator'
import { expect, test } from 'vitest'
import * as z from 'zod'
import { errorCatalogue, Int64Schema, Int64TextSchema, PlantSchema, TextSchema } from '../src/contract.ts'
import { createOpenApiDocument } from '../src/openapi.ts'

/** Creates a document as it is served. */
const served = (operations?: Record<string, unknown>) => JSON.parse(JSON.stringify(createOpenApiDocument(operations)))
const document = served()
const { post, get } = document.paths['/plants']
const operations = Object.values<Record<string, typeof post>>(document.paths).flatMap((each) => Object.entries(each))
const { Plant, NewPlant, Error: ErrorComponent } = document.components.schemas
const refer = (name: string) => ({ $ref: `#/components/schemas/${name}` })
const content = (schema: object) => ({ content: { 'application/json': { schema } } })

test('the document has the specified version, paths, operations, scopes, bodies and parameters', () => {
  // What users of other generators have to know.
  const description = expect.stringMatching(/Above 2\^53 .* round them.*\| 40400 \| 404 \| The path does not exist/s)
  expect(document).toMatchObject({
    openapi: expect.stringMatching(/^3\.1\./),
    info: { version: '1.0.0', description, contact: {} },
    servers: [{ url: '/' }],
    security: [{ bearer: [] }],
    tags: [{ name: 'plants', description: expect.stringMatching(/.{10,}/) }],
    components: { securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } } },
  })
  const operation = (operationId: string, summary: string, scope: string, schema: object) => {
    return {
      operationId,
      summary,
      tags: ['plants'],
      security: [{ bearer: [scope] }],
      responses: { 200: content(schema) },
    }
  }
  expect(post).toMatchObject(operation('createPlant', 'Create Plant', 'write', refer('Plant')))
  expect(post.requestBody).toEqual({ required: true, ...content(refer('NewPlant')) })
  const list = { type: 'array', items: refer('Plant') }
  expect(get).toMatchObject(operation('getPlants', 'Get Plants', 'read', list))
})

test('every operation has its scope, and says what the errors mean that it responds with, each with an example', () => {
  const errors = Object.values(errorCatalogue)
  expect(new Set(errors.map(({ code }) => code)).size).toBe(errors.length)
  for (const { reason } of errors) expect(reason, 'it is a full sentence').toMatch(/^([A-Z]|id: ).{20,}\.$/s)
  const namesOf = ({ content }: typeof post) => Object.keys(content['application/json'].examples ?? {})
  for (const [method, { operationId, security, requestBody, responses }] of operations) {
    if (!['get', 'post'].includes(method)) expect(security, operationId).toEqual([{ bearer: ['write'] }])
    for (const status of [413, 415]) expect(status in responses, operationId).toBe(!!requestBody)
    const others = Object.keys(responses).filter((status) => Number(status) > 400)
    for (const status of others) expect(namesOf(responses[status]), `${operationId} ${status}`).not.toEqual([])
  }
  const { code, reason } = errorCatalogue.idTaken
  const examples = { idTaken: { value: { error: code, message: reason } } }
  const description = expect.stringContaining(`${code}: ${reason}`)
  const json = { schema: refer('Error'), examples: expect.objectContaining(examples) }
  expect(post.responses[400]).toMatchObject({ description, content: { 'application/json': json } })
  expect(namesOf(post.responses[400])).toEqual(['badRequest', 'malformedJson', 'invalidBody', 'idTaken'])
  expect(namesOf(get.responses[400])).toEqual(['badRequest', 'invalidQuery'])
  expect(namesOf(get.responses[401])).toEqual(['tokenMissing', 'tokenInvalid', 'tokenEnded'])
})

test('every field has its specified type and format, and a description', () => {
  // Only what every engine reads: Rust's and RE2 have no surrogates.
  const text = { type: 'string', pattern: '^[^\\x00]*$' }
  expect(Plant).toMatchObject({ type: 'object', required: ['name'], properties: { name: text, tag: text } })
  expect(Plant.properties).not.toHaveProperty('id')
  const id = { type: 'integer', format: 'int64' }
  expect(NewPlant).toMatchObject({ required: ['id', 'name'], properties: { id, name: text, tag: text } })
  const error = { type: 'integer', format: 'int32', description: expect.stringMatching(/status x 100/) }
  expect(ErrorComponent).toMatchObject({
    required: ['error', 'message'],
    properties: { error, message: { type: 'string' } },
  })
  for (const schema of [Plant, NewPlant, ErrorComponent]) {
    expect(schema).toHaveProperty('description')
    // A later version may add fields.
    expect(schema).not.toHaveProperty('additionalProperties')
    for (const property of Object.values<Record<string, unknown>>(schema.properties)) {
      expect(property['description']).toMatch(/.{10,}/)
      expect(property).not.toHaveProperty('anyOf')
    }
  }
})

test('an added operation is described in a valid document, also what the server responds before it', async () => {
  const pathParams = z.object({ bed: Int64TextSchema })
  const body = z.object({ size: Int64Schema.nullable().meta({ examples: [2] }), note: TextSchema.nullish() })
  const changeBed = { method: 'PUT', path: '/beds/:bed', pathParams, body, responses: { 200: PlantSchema } }
  const added = served({ changeBed: { ...changeBed, metadata: { scope: 'write' } } })
  const validator = new Validator()
  // The validator resolves references in place.
  for (const each of [document, added]) expect(await validator.validate(structuredClone(each))).toEqual({ valid: true })
  const int64 = { type: 'integer', format: 'int64' }
  expect(added.paths['/beds/{bed}'].put).toMatchObject({
    parameters: [
      { in: 'path', name: 'bed', required: true, schema: int64, description: expect.stringMatching(/int64/) },
    ],
    requestBody: content({ properties: { size: { type: ['integer', 'null'], format: 'int64', examples: [2] } } }),
    responses: { 200: content(refer('Plant')), 404: {}, 413: {}, 415: {} },
  })
})

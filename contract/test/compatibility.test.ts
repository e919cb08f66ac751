/** Within a major version, clients of the last release go on working. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import * as z from 'zod'
import { hasMajorChangeset } from '../../test/helpers/major-changeset.ts'
import { contract } from '../src/contract.ts'
import { createOpenApiDocument } from '../src/openapi.ts'
import { Int64Schema, TextSchema } from '../src/plants.ts'
import { findBreaks } from './helpers/find-breaks.ts'

const read = (file: string) => readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8')
const copy = <T>(value: T): T => JSON.parse(JSON.stringify(value))

test('the contract is compatible with its last release, or a changeset says that it is not', () => {
  const current = copy(createOpenApiDocument())
  expect(current.info.version).toBe(JSON.parse(read('contract/package.json')).version)
  const hint = 'keep it, or write a changeset with a major version of the contract: npm run changeset'
  const breaks = findBreaks(JSON.parse(read('contract/released.json')), current)
  if (!hasMajorChangeset('contract')) expect(breaks.map((each) => `${each}; ${hint}`)).toEqual([])
})

const Bed = z.object({ name: TextSchema, tag: TextSchema.optional() }).meta({ id: 'Bed' })
const NewBed = Bed.extend({ id: Int64Schema }).meta({ id: 'NewBed' })
const { createPlant, getPlants } = contract
const operations = {
  createBed: { ...createPlant, path: '/beds', body: NewBed, responses: { ...createPlant.responses, 200: Bed } },
  getBeds: { ...getPlants, path: '/beds', responses: { 200: z.array(Bed) } },
}
const current = copy(createOpenApiDocument({ operations }))

/** Returns a document with other values at some places; undefined removes one. */
function changed(document: typeof current, changes: Record<string, unknown>): typeof current {
  const draft = copy(document)
  for (const [place, value] of Object.entries(changes)) {
    const path = place.replace(/^(get|post)/, 'paths./beds.$1').replace(/^[A-Z]/, 'components.schemas.$&')
    const names = path.split('.')
    const last = names.pop() ?? ''
    const owner = names.reduce((part, name) => (part as never)[name], draft as unknown)
    Object.assign(owner as object, { [last]: value })
  }
  return copy(draft)
}

const text = { type: 'string' }
const list = { type: 'array', items: text }
const kinds = (...names: string[]) => ({
  anyOf: names.map((kind) => ({ type: 'object', properties: { kind: { type: 'string', const: kind } } })),
})
const SUCCESS = current.paths['/beds']?.['post']?.responses['200']
const response = 'createBed: response 200'

test.each<[sentence: string, now: Record<string, unknown>, released?: Record<string, unknown>]>([
  ['getBeds: GET /beds is gone', { get: undefined }],
  ['getBeds: is now called listBeds', { 'get.operationId': 'listBeds' }],
  ['getBeds: needs the scope write instead of read', { 'get.security': [{ bearer: ['write'] }] }],
  ['createBed: is no longer idempotent', { 'post.x-idempotent': false }],
  ['getBeds: no longer has pages', { 'get.x-paged': undefined }],
  ['createBed: the status 413 is gone', { 'post.responses.413': undefined }],
  ['createBed: has a new status of success, 201', { 'post.responses.201': SUCCESS }],
  [`${response}: no longer has content`, { 'post.responses.200.content': undefined }],
  ['getBeds: response 200: the header Link may be absent now', { 'get.responses.200.headers.Link': undefined }],
  ['error 40003: no longer means idTaken', { 'Error.properties.error.x-codes.idTaken': 40005 }],
  ['error 40003: no longer means idTaken', { 'Error.properties.error.x-codes.idTaken': undefined }],
  ['createBed.body.tag: is gone', { 'NewBed.properties.tag': undefined }],
  ['createBed.body.size: is new and required', { 'NewBed.properties.size': text, 'NewBed.required.2': 'size' }],
  ['createBed.body.tag: is required now', { 'NewBed.required.2': 'tag' }],
  ['createBed.body.name: can no longer be a string', { 'NewBed.properties.name': { type: 'integer' } }],
  ['createBed.body.id: has the format int32 instead of int64', { 'NewBed.properties.id.format': 'int32' }],
  ['createBed.body.name: has the pattern ^F instead of undefined', { 'NewBed.properties.name': { ...text, pattern: '^F' } }, { 'NewBed.properties.name': text }], // biome-ignore format: one line
  ['createBed.body.name: has the minLength 1 instead of undefined', { 'NewBed.properties.name.minLength': 1 }],
  ['createBed.body.name: accepts only a now', { 'NewBed.properties.name.enum': ['a'] }],
  ['createBed.body: rejects unknown fields now', { 'NewBed.additionalProperties': false }],
  ['createBed.body.tag: has the default b instead of a', { 'NewBed.properties.tag.default': 'b' }, { 'NewBed.properties.tag.default': 'a' }], // biome-ignore format: one line
  ['createBed.body.tag: can no longer be null', { 'NewBed.properties.tag': text }, { 'NewBed.properties.tag': { anyOf: [text, { type: 'null' }] } }], // biome-ignore format: one line
  ['createBed.body.tag[]: can no longer be a string', { 'NewBed.properties.tag': { ...list, items: { type: 'boolean' } } }, { 'NewBed.properties.tag': list }], // biome-ignore format: one line
  ['createBed.body.tag.kind: accepts only b now', { 'NewBed.properties.tag': kinds('b') }, { 'NewBed.properties.tag': kinds('a', 'b') }], // biome-ignore format: one line
  ['createBed.body: is gone', { 'post.requestBody': undefined }],
  ['getBeds.query.limit: has the maximum 10 instead of 1000', { 'get.parameters.0.schema.maximum': 10 }],
  ['getBeds.query.limit: is required now', { 'get.parameters.0.required': true }],
  ['getBeds.query.cursor: is gone', { 'get.parameters.1.name': 'page' }],
  ['getBeds.query.q: is new and required', { 'get.parameters.2': { in: 'query', name: 'q', required: true, schema: text } }], // biome-ignore format: one line
  [`${response}.tag: is gone`, { 'Bed.properties.tag': undefined }],
  [`${response}.name: may be absent now`, { 'Bed.required': [] }],
  [`${response}.tag: may now be null`, { 'Bed.properties.tag': { anyOf: [text, { type: 'null' }] } }],
  [`${response}.tag: may have other values than a now`, { 'Bed.properties.tag.enum': ['a', 'b'] }, { 'Bed.properties.tag.enum': ['a'] }], // biome-ignore format: one line
  ['createBed: response 400.message: is gone', { 'Error.properties.message': undefined }],
])('rejected: %s', (sentence, now, released = {}) => {
  const breaks = findBreaks(changed(current, released), changed(current, now))
  expect(breaks).toContain(sentence)
  const place = sentence.replace(/^[^:.]*(: response \d+)?/, '')
  expect(breaks.filter((each) => !each.endsWith(place))).toEqual([])
})

test.each<[addition: string, now: Record<string, unknown>]>([
  ['an operation', { 'paths./beds/{id}': { get: current.paths['/beds']?.['get'] } }],
  ['an optional field', { 'NewBed.properties.size': text, 'Bed.properties.size': text }],
  ['a required field of a response', { 'Bed.properties.size': text, 'Bed.required.1': 'size' }],
  ['an optional parameter', { 'get.parameters.2': { in: 'query', name: 'q', schema: text } }],
  ['a status and a code of an error', { 'get.responses.409': {}, 'Error.properties.error.x-codes.other': 40900 }],
  ['a wider range', { 'get.parameters.0.schema.maximum': 9999, 'NewBed.properties.name.pattern': undefined }],
  ['a request that may be null', { 'NewBed.properties.tag': { anyOf: [text, { type: 'null' }] } }],
  ['another text', { 'post.description': '', 'NewBed.description': '', 'NewBed.properties.id.examples': [2] }],
])('accepted: %s', (_, now) => {
  expect(findBreaks(current, changed(current, now))).toEqual([])
})

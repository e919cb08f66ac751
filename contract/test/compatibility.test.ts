/** Within a major version, clients of the last release go on working. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { hasMajorChangeset } from '../../test/helpers/major-changeset.ts'
import { createOpenApiDocument } from '../src/openapi.ts'
import { findBreaks } from './helpers/find-breaks.ts'

const read = (file: string) => readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8')
const copy = <T>(value: T): T => JSON.parse(JSON.stringify(value))
const current = copy(createOpenApiDocument())

test('the contract is compatible with its last release, or a changeset says that it is not', () => {
  expect(current.info.version).toBe(JSON.parse(read('contract/package.json')).version)
  const hint = 'keep it, or write a changeset with a major version of the contract: npm run changeset'
  const breaks = findBreaks(JSON.parse(read('contract/released.json')), current)
  if (!hasMajorChangeset('contract')) expect(breaks.map((each) => `${each}; ${hint}`)).toEqual([])
})

/** Returns a document with other values at some places; undefined removes one. */
function changed(document: typeof current, changes: Record<string, unknown>): typeof current {
  const draft = copy(document)
  for (const [place, value] of Object.entries(changes)) {
    const names = place
      .replace(/^(get|post)/, 'paths./plants.$1')
      .replace(/^[A-Z]/, 'components.schemas.$&')
      .split('.')
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
const SUCCESS = current.paths['/plants']?.['post']?.responses['200']
const response = 'createPlant: response 200'

test.each<[sentence: string, now: Record<string, unknown>, released?: Record<string, unknown>]>([
  ['getPlants: GET /plants is gone', { get: undefined }],
  ['getPlants: is now called listPlants', { 'get.operationId': 'listPlants' }],
  ['getPlants: needs the scope write instead of read', { 'get.security': [{ bearer: ['write'] }] }],
  ['createPlant: is no longer idempotent', { 'post.x-idempotent': false }],
  ['getPlants: no longer has pages', { 'get.x-paged': undefined }],
  ['createPlant: the status 413 is gone', { 'post.responses.413': undefined }],
  ['createPlant: has a new status of success, 201', { 'post.responses.201': SUCCESS }],
  [`${response}: no longer has content`, { 'post.responses.200.content': undefined }],
  ['getPlants: response 200: the header Link may be absent now', { 'get.responses.200.headers.Link': undefined }],
  ['error 40003: no longer means idTaken', { 'Error.properties.error.x-codes.idTaken': 40005 }],
  ['error 40003: no longer means idTaken', { 'Error.properties.error.x-codes.idTaken': undefined }],
  ['createPlant.body.tag: is gone', { 'NewPlant.properties.tag': undefined }],
  ['createPlant.body.size: is new and required', { 'NewPlant.properties.size': text, 'NewPlant.required.2': 'size' }],
  ['createPlant.body.tag: is required now', { 'NewPlant.required.2': 'tag' }],
  ['createPlant.body.name: can no longer be a string', { 'NewPlant.properties.name': { type: 'integer' } }],
  ['createPlant.body.id: has the format int32 instead of int64', { 'NewPlant.properties.id.format': 'int32' }],
  ['createPlant.body.name: has the pattern ^F instead of undefined', { 'NewPlant.properties.name': { ...text, pattern: '^F' } }, { 'NewPlant.properties.name': text }], // biome-ignore format: one line
  ['createPlant.body.name: has the minLength 1 instead of undefined', { 'NewPlant.properties.name.minLength': 1 }],
  ['createPlant.body.name: accepts only a now', { 'NewPlant.properties.name.enum': ['a'] }],
  ['createPlant.body: rejects unknown fields now', { 'NewPlant.additionalProperties': false }],
  ['createPlant.body.tag: has the default b instead of a', { 'NewPlant.properties.tag.default': 'b' }, { 'NewPlant.properties.tag.default': 'a' }], // biome-ignore format: one line
  ['createPlant.body.tag: can no longer be null', { 'NewPlant.properties.tag': text }, { 'NewPlant.properties.tag': { anyOf: [text, { type: 'null' }] } }], // biome-ignore format: one line
  ['createPlant.body.tag[]: can no longer be a string', { 'NewPlant.properties.tag': { ...list, items: { type: 'boolean' } } }, { 'NewPlant.properties.tag': list }], // biome-ignore format: one line
  ['createPlant.body.tag.kind: accepts only b now', { 'NewPlant.properties.tag': kinds('b') }, { 'NewPlant.properties.tag': kinds('a', 'b') }], // biome-ignore format: one line
  ['createPlant.body: is gone', { 'post.requestBody': undefined }],
  ['getPlants.query.limit: has the maximum 10 instead of 1000', { 'get.parameters.0.schema.maximum': 10 }],
  ['getPlants.query.limit: is required now', { 'get.parameters.0.required': true }],
  ['getPlants.query.cursor: is gone', { 'get.parameters.1.name': 'page' }],
  ['getPlants.query.q: is new and required', { 'get.parameters.2': { in: 'query', name: 'q', required: true, schema: text } }], // biome-ignore format: one line
  [`${response}.tag: is gone`, { 'Plant.properties.tag': undefined }],
  [`${response}.name: may be absent now`, { 'Plant.required': [] }],
  [`${response}.tag: may now be null`, { 'Plant.properties.tag': { anyOf: [text, { type: 'null' }] } }],
  [`${response}.tag: may have other values than a now`, { 'Plant.properties.tag.enum': ['a', 'b'] }, { 'Plant.properties.tag.enum': ['a'] }], // biome-ignore format: one line
  ['createPlant: response 400.message: is gone', { 'Error.properties.message': undefined }],
])('rejected: %s', (sentence, now, released = {}) => {
  const breaks = findBreaks(changed(current, released), changed(current, now))
  expect(breaks).toContain(sentence)
  const place = sentence.replace(/^[^:.]*(: response \d+)?/, '')
  expect(breaks.filter((each) => !each.endsWith(place))).toEqual([])
})

test.each<[addition: string, now: Record<string, unknown>]>([
  ['an operation', { 'paths./plants/{id}': { get: current.paths['/plants']?.['get'] } }],
  ['an optional field', { 'NewPlant.properties.size': text, 'Plant.properties.size': text }],
  ['a required field of a response', { 'Plant.properties.size': text, 'Plant.required.1': 'size' }],
  ['an optional parameter', { 'get.parameters.2': { in: 'query', name: 'q', schema: text } }],
  ['a status and a code of an error', { 'get.responses.409': {}, 'Error.properties.error.x-codes.other': 40900 }],
  ['a wider range', { 'get.parameters.0.schema.maximum': 9999, 'NewPlant.properties.name.pattern': undefined }],
  ['a request that may be null', { 'NewPlant.properties.tag': { anyOf: [text, { type: 'null' }] } }],
  ['another text', { 'post.description': '', 'NewPlant.description': '', 'NewPlant.properties.id.examples': [2] }],
])('accepted: %s', (_, now) => {
  expect(findBreaks(current, changed(current, now))).toEqual([])
})

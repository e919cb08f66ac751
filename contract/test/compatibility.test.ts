/** Within a major version, clients of the last release go on working, and apps compile. */
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
const listOf = (items: object) => ({ type: 'array', items })

test.each<[sentence: string, now: Record<string, unknown>, released?: Record<string, unknown>]>([
  ['getBeds: get /beds is gone', { get: undefined }],
  ['getBeds: needs the scope write instead of read', { 'get.security': [{ bearer: ['write'] }] }],
  ['createBed: is no longer idempotent', { 'post.x-idempotent': false }],
  ['createBed: the status 413 is gone', { 'post.responses.413': undefined }],
  ['error 40003: no longer means idTaken', { 'Error.properties.error.x-codes.idTaken': 40005 }],
  ['getBeds: is listBeds now', { 'get.operationId': 'listBeds' }],
  ['getBeds: is no longer paged', { 'get.x-paged': undefined }],
  ['createBed: body.id is integer (int32) instead of integer (int64)', { 'NewBed.properties.id.format': 'int32' }],
  ['createBed: body.tag is gone', { 'NewBed.properties.tag': undefined }],
  ['createBed: body.tag is required now', { 'NewBed.required': ['id', 'name', 'tag'] }],
  [
    'createBed: body.size is required now',
    { 'NewBed.properties.size': text, 'NewBed.required': ['id', 'name', 'size'] },
  ],
  ['createBed: body.name has the pattern ^F instead of undefined', { 'NewBed.properties.name': { ...text, pattern: '^F' } }, { 'NewBed.properties.name': text }], // biome-ignore format: one line
  ['createBed: body.name has the minLength 1 instead of undefined', { 'NewBed.properties.name.minLength': 1 }],
  ['createBed: body has the additionalProperties false instead of undefined', { 'NewBed.additionalProperties': false }],
  ['createBed: body.tag.[] has the minLength 1 instead of undefined', { 'NewBed.properties.tag': listOf({ ...text, minLength: 1 }) }, { 'NewBed.properties.tag': listOf(text) }], // biome-ignore format: one line
  [
    'createBed: data.tag may be absent now; getBeds: data.[].tag may be absent now',
    { 'Bed.properties.tag': undefined },
  ],
  ['createBed: data.name is integer instead of string; getBeds: data.[].name is integer instead of string', { 'Bed.properties.name': { type: 'integer' } }], // biome-ignore format: one line
  ['getBeds: query.limit has the maximum 10 instead of 1000', { 'get.parameters.0.schema.maximum': 10 }],
])('rejected: %s', (sentence, now, released = {}) => {
  expect(findBreaks(changed(current, released), changed(current, now))).toEqual(sentence.split('; '))
})

test.each<[addition: string, now: Record<string, unknown>]>([
  ['an operation', { 'paths./beds/{id}': { get: current.paths['/beds']?.['get'] } }],
  ['an optional field', { 'NewBed.properties.size': { ...text, pattern: '^F' } }],
  ['a status and a code of an error', { 'get.responses.409': {}, 'Error.properties.error.x-codes.other': 40900 }],
  ['a wider range', { 'get.parameters.0.schema.maximum': 9999, 'NewBed.properties.name.pattern': undefined }],
  ['another text', { 'post.description': '', 'NewBed.description': '', 'NewBed.properties.id.examples': [2] }],
])('accepted: %s', (_, now) => {
  expect(findBreaks(current, changed(current, now))).toEqual([])
})

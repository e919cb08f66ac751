/**
 * Within a major version, clients of the last release go on working. Libraries that compare documents were tried and
 * left: api-smart-diff does not notice that a field of a response is gone, openapi-diff does not read OpenAPI 3.1, and
 * others are a downloaded binary or no longer maintained.
 */
import { globSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { root } from '../../test/helpers/programs.ts'
import { createOpenApiDocument, type JsonSchema, type OpenApiDocument } from '../src/openapi.ts'

/** What clients of a document rely on, in a sentence each, and the keywords that limit what they send, by place. */
function readDocument({ paths, components: { schemas } }: OpenApiDocument) {
  const promises = new Set<string>()
  const limits = new Map<string, Readonly<Record<string, unknown>>>()

  function readValue(place: string, { $ref, ...own }: JsonSchema, required: boolean, isSent: boolean): void {
    const schema = schemas[$ref?.split('/').at(-1) ?? ''] ?? own
    const { type: types, format = 'any', properties = {}, required: names = [], items, ...keywords } = schema
    const [type, isNullable] = [types].flat()
    promises.add(`${place} is ${type} in the format ${format}`)
    if (isSent)
      limits.set(place, { ...keywords, ...(required && { required }), ...(!isNullable && { mustNotBeNull: true }) })
    else if (required) promises.add(`${place} is always present`)
    if (!isSent && !isNullable) promises.add(`${place} is never null`)
    for (const [name, field] of Object.entries(properties)) {
      readValue(`${place}.${name}`, field, names.includes(name), isSent)
    }
    if (items) readValue(`${place}.[]`, items, true, isSent)
  }

  for (const [path, method, { operationId, security, parameters, requestBody, responses, ...own }] of list(paths)) {
    promises.add(`${operationId} is ${method} ${path}`).add(`${operationId} needs ${security[0].bearer}`)
    if (own['x-idempotent']) promises.add(`${operationId} is idempotent`)
    if (own['x-paged']) promises.add(`${operationId} is paged`)
    for (const { in: part, name, schema, required = false } of parameters ?? []) {
      readValue(`${operationId} ${part}.${name}`, schema, required, true)
    }
    if (requestBody) readValue(`${operationId} body`, requestBody.content['application/json'].schema, true, true)
    for (const [status, { content }] of Object.entries(responses)) {
      promises.add(`${operationId} responds ${status}`)
      if (content) readValue(`${operationId} ${status}`, content['application/json'].schema, true, false)
    }
  }
  const codes = schemas['Error']?.properties?.['error']?.['x-codes'] ?? {}
  for (const [name, code] of Object.entries(codes)) promises.add(`error ${code} means ${name}`)
  return { promises, limits }
}

/** Lists the operations of a document. */
const list = (paths: OpenApiDocument['paths']) =>
  Object.entries(paths).flatMap(([path, methods]) => Object.entries(methods).map((each) => [path, ...each] as const))

/** Whether all that a limit of the release allows is allowed now. Other keywords are no limits. */
function isWithin(keyword: string, released: unknown, limit: unknown): boolean {
  if (/^(exclusiveM|m)in/.test(keyword)) return Number(released) >= Number(limit)
  if (/^(exclusiveM|m)ax/.test(keyword)) return Number(released) <= Number(limit)
  return released === limit || !/^(m|pattern|required|additionalProperties)/.test(keyword)
}

/** Finds what a client of a released document can no longer rely on. */
function findBreaks(released: OpenApiDocument, current: OpenApiDocument): string[] {
  const [before, after] = [readDocument(released), readDocument(current)]
  const gone = [...before.promises].filter((promise) => !after.promises.has(promise))
  // No client of the release calls an operation that is new.
  const names = list(released.paths).map(([, , { operationId }]) => operationId)
  const sent = [...after.limits].filter(([place]) => names.includes(place.split(' ')[0] ?? ''))
  const narrower = sent.flatMap(([place, limits]) => {
    // A field that is added has to be optional.
    const old = before.limits.get(place) ?? { ...limits, required: undefined }
    const changed = Object.entries(limits).filter(([keyword, limit]) => !isWithin(keyword, old[keyword], limit))
    return changed.map(([keyword, limit]) => `now: ${place} has ${keyword} ${limit}`)
  })
  return [...gone.map((promise) => `no longer: ${promise}`), ...narrower]
}

const read = (file: string) => JSON.parse(readFileSync(new URL(`../${file}`, import.meta.url), 'utf8'))
const current: OpenApiDocument = JSON.parse(JSON.stringify(createOpenApiDocument()))

test('the contract is compatible with its last release, or a changeset says that it is not', () => {
  expect(current.info.version).toBe(read('package.json').version)
  const hint = 'keep it, or write a changeset with a major version of the contract: npm run changeset'
  const changesets = globSync('.changeset/*.md', { cwd: root })
  const isMajor = changesets.some((file) =>
    /^["']@plant-store\/contract["']: major$/m.test(readFileSync(root + file, 'utf8')),
  )
  if (!isMajor) expect(findBreaks(read('released.json'), current), hint).toEqual([])
})

/** Returns the document with another text at the first place that has a text. */
function changed(from: string, to: string): OpenApiDocument {
  const text = JSON.stringify(current)
  expect(text).toContain(from)
  return JSON.parse(text.replace(from, () => to))
}

const REQUIRED = '"required":["id","name"]'
const PATTERN = '"pattern":"^[^\\\\x00]*$"'
test.each<[sentence: string, from: string, to: string]>([
  ['no longer: getPlants is get /plants', '"operationId":"getPlants"', '"operationId":"listPlants"'],
  ['no longer: getPlants needs read', '"bearer":["read"]', '"bearer":["write"]'],
  ['no longer: createPlant is idempotent', '"x-idempotent":true', '"x-idempotent":false'],
  ['no longer: getPlants is paged', '"x-paged":true', '"x-paged":false'],
  ['no longer: createPlant responds 413', '"413":', '"414":'],
  ['no longer: error 40003 means idTaken', '"idTaken":40003', '"idTaken":40005'],
  ['no longer: createPlant body.id is integer in the format int64', '"format":"int64"', '"format":"int32"'],
  ['no longer: createPlant 200.name is always present', '"required":["name"]', '"required":[]'],
  ['now: createPlant body.tag has required true', REQUIRED, '"required":["id","name","tag"]'],
  ['now: getPlants query.cursor has pattern ^F', PATTERN, '"pattern":"^F"'],
  ['now: createPlant body has additionalProperties false', REQUIRED, `${REQUIRED},"additionalProperties":false`],
  ['now: getPlants query.limit has maximum 10', '"maximum":1000', '"maximum":10'],
])('rejected, %s', (sentence, from, to) => {
  expect(findBreaks(current, changed(from, to))).toContain(sentence)
})

/** An operation that the contract never has, nor its path. */
const putBed = { ...current.paths['/plants']?.['post'], operationId: 'putTestBed' }
test.each<[addition: string, from: string, to: string]>([
  ['an operation with required fields', '"paths":{', `"paths":{"/beds/{bed}":{"put":${JSON.stringify(putBed)}},`],
  ['an optional field', '"properties":{"id"', '"properties":{"size":{"type":"string","pattern":"^F"},"id"'],
  ['a status', '"413":', '"409":{},"413":'],
  ['a code of an error', '"idTaken":40003', '"idTaken":40003,"other":40900'],
  ['a wider range', '"maximum":1000', '"maximum":9999'],
  ['any text', `,${PATTERN}`, ''],
  ['a field that may be left out', REQUIRED, '"required":["id"]'],
])('accepted: %s', (_, from, to) => {
  expect(findBreaks(current, changed(from, to))).toEqual([])
})

import type { JsonSchema, OpenApiDocument, Operation } from '../../src/openapi.ts'

/**
 * Finds what a client of a released document can no longer rely on, in a sentence each. Libraries that compare documents were
 * tried and left: api-smart-diff does not notice that a field of a response is gone, openapi-diff does not read OpenAPI 3.1, and
 * others are a downloaded binary or no longer maintained.
 */
export function findBreaks(released: OpenApiDocument, current: OpenApiDocument): string[] {
  const breaks: string[] = []
  const say = (place: string, what: string): void => void breaks.push(`${place}: ${what}`)

  for (const [path, methods] of Object.entries(released.paths)) {
    for (const [method, before] of Object.entries(methods)) {
      const after = current.paths[path]?.[method]
      if (after) compareOperations(before, after)
      else say(before.operationId, `${method.toUpperCase()} ${path} is gone`)
    }
  }
  const codes = codesOf(current)
  for (const [name, code] of Object.entries(codesOf(released))) {
    if (codes[name] !== code) say(`error ${code}`, `no longer means ${name}`)
  }
  const types = Object.keys(released.components.schemas).filter((name) => !(name in current.components.schemas))
  for (const name of types) say(name, 'the type is gone')
  return [...new Set(breaks)]

  function compareOperations(before: Operation, after: Operation): void {
    const id = before.operationId
    if (after.operationId !== id) say(id, `is now called ${after.operationId}`)
    const [scope, other] = [before, after].map(({ security }) => security[0]?.bearer[0])
    if (scope !== other) say(id, `needs the scope ${other} instead of ${scope}`)
    if (before['x-idempotent'] && !after['x-idempotent']) say(id, 'is no longer idempotent')
    if (before['x-paged'] && !after['x-paged']) say(id, 'no longer has pages')
    const [request, sent] = [before, after].map(requestOf)
    compare(request ?? {}, sent ?? {}, id, true)
    for (const [status, { content, headers }] of Object.entries(before.responses)) {
      const response = after.responses[status]
      const place = `${id}: response ${status}`
      if (!response) say(id, `the status ${status} is gone`)
      else if (!content !== !response.content) say(place, content ? 'no longer has content' : 'has content now')
      else if (content) compare(schemaOf(content), schemaOf(response.content), place, false)
      for (const [name, { required }] of Object.entries(headers)) {
        const header = response?.headers[name]
        if (response && (!header || (required && !header.required))) say(place, `the header ${name} may be absent now`)
      }
    }
    const added = Object.keys(after.responses).filter((status) => status < '400' && !(status in before.responses))
    for (const status of added) say(id, `has a new status of success, ${status}`)
  }

  /** Compares what is sent: requests must fit the current schema, responses that of the release. */
  function compare(old: JsonSchema, now: JsonSchema, place: string, isRequest: boolean): void {
    const [olds, nows] = [alternativesOf(old, released), alternativesOf(now, current)]
    const [from, to] = isRequest ? [olds, nows] : [nows, olds]
    for (const value of from) {
      const same = to.filter((each) => each.type === value.type || (each.type === 'number' && value.type === 'integer'))
      const start = breaks.length
      const fits = same.some((each) => {
        breaks.length = start
        if (isRequest) compareValues(value, each, place, isRequest)
        else compareValues(each, value, place, isRequest)
        return breaks.length === start
      })
      if (!fits && same.length === 0) say(place, `${isRequest ? 'can no longer be' : 'may now be'} ${nameOf(value)}`)
    }
  }

  function compareValues(old: JsonSchema, now: JsonSchema, place: string, isRequest: boolean): void {
    const [from, to] = isRequest ? [old, now] : [now, old]
    const [values, allowed] = [from, to].map(
      (each) => each.enum ?? (each.const === undefined ? undefined : [each.const]),
    )
    if (allowed && !values?.every((value) => allowed.includes(value))) {
      say(place, `${isRequest ? 'accepts only' : 'may have other values than'} ${allowed.join(', ')} now`)
    }
    if (from.format !== to.format && (to.format !== undefined || from.format === 'int64')) {
      say(place, `has the format ${now.format} instead of ${old.format}`)
    }
    for (const [keyword, isWithin] of Object.entries(BOUNDS)) {
      if (to[keyword] !== undefined && !isWithin(from[keyword], to[keyword])) {
        say(place, `has the ${keyword} ${now[keyword]} instead of ${old[keyword]}`)
      }
    }
    if (isRequest && old.default !== undefined && old.default !== now.default) {
      say(place, `has the default ${now.default} instead of ${old.default}`)
    }
    if (old.items && now.items) compare(old.items, now.items, `${place}[]`, isRequest)
    if (old.additionalProperties && now.additionalProperties) {
      compare(old.additionalProperties, now.additionalProperties, `${place}.*`, isRequest)
    }
    if (to.additionalProperties === false && from.additionalProperties !== false)
      say(place, 'rejects unknown fields now')
    for (const [name, field] of Object.entries(old.properties ?? {})) {
      const own = now.properties?.[name]
      if (own) compare(field, own, `${place}.${name}`, isRequest)
      else say(`${place}.${name}`, 'is gone')
    }
    for (const name of to.required ?? []) {
      if (from.required?.includes(name) || !now.properties?.[name]) continue
      const isNew = old.properties?.[name] === undefined
      say(`${place}.${name}`, !isRequest ? 'may be absent now' : isNew ? 'is new and required' : 'is required now')
    }
  }
}

type Compare = (own: unknown, bound: unknown) => boolean
const least: Compare = (own, bound) => Number(own) >= Number(bound)
const most: Compare = (own, bound) => Number(own) <= Number(bound)
const same: Compare = (own, bound) => own === bound
const BOUNDS: Readonly<Record<string, Compare>> = {
  ...{ minimum: least, exclusiveMinimum: least, minLength: least, minItems: least },
  ...{ maximum: most, exclusiveMaximum: most, maxLength: most, maxItems: most },
  ...{ pattern: same, multipleOf: same },
}

/** Describes a request as one object: its parameters by place, and its body. */
function requestOf({ parameters = [], requestBody }: Operation): JsonSchema {
  const places = ['path', 'query', 'header'].map((place): [string, JsonSchema] => {
    const own = parameters.filter((parameter) => parameter.in === place)
    const properties = Object.fromEntries(own.map(({ name, schema }) => [name, schema]))
    const required = own.filter((parameter) => parameter.required).map(({ name }) => name)
    return [place, { type: 'object', properties, required }]
  })
  const body: [string, JsonSchema][] = requestBody ? [['body', schemaOf(requestBody.content)]] : []
  return { type: 'object', properties: Object.fromEntries([...places, ...body]), required: body.map(([name]) => name) }
}

function schemaOf(content: { 'application/json': { schema: JsonSchema } } | undefined): JsonSchema {
  return content?.['application/json'].schema ?? {}
}

function codesOf({ components }: OpenApiDocument): Readonly<Record<string, number>> {
  return components.schemas['Error']?.properties?.['error']?.['x-codes'] as Readonly<Record<string, number>>
}

function alternativesOf(schema: JsonSchema, document: OpenApiDocument): JsonSchema[] {
  const target = schema.$ref?.split('/').at(-1)
  if (target !== undefined) return alternativesOf(document.components.schemas[target] ?? {}, document)
  return schema.anyOf?.flatMap((member) => alternativesOf(member, document)) ?? [schema]
}

function nameOf({ type }: JsonSchema): string {
  return type === 'null' ? 'null' : `${/^[aio]/.test(type ?? '') ? 'an' : 'a'} ${type}`
}

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
  return breaks

  function compareOperations(before: Operation, after: Operation): void {
    const id = before.operationId
    const [scope, other] = [before, after].map(({ security }) => security[0]?.bearer[0])
    if (id !== after.operationId) say(id, `is ${after.operationId} now`)
    if (scope !== other) say(id, `needs the scope ${other} instead of ${scope}`)
    if (before['x-idempotent'] && !after['x-idempotent']) say(id, 'is no longer idempotent')
    if (before['x-paged'] && !after['x-paged']) say(id, 'is no longer paged')
    for (const [status, { headers }] of Object.entries(before.responses)) {
      const response = after.responses[status]
      if (!response) say(id, `the status ${status} is gone`)
      for (const [name, { required }] of Object.entries(headers)) {
        const header = response?.headers[name]
        const isLess = response && (!header || (required && !header.required))
        if (isLess) say(id, `the header ${name} of the response ${status} may be absent now`)
      }
    }
    compareRequests(id, valuesOfRequest(before, released), valuesOfRequest(after, current))
    const [old, now] = [valuesOfResponse(before, released), valuesOfResponse(after, current)]
    for (const [place, value] of old) {
      const other = now.get(place)
      if (!other || (value.required && !other.required)) say(id, `${place} may be absent now`)
      else if (typeOf(value) !== typeOf(other)) say(id, `${place} is ${typeOf(other)} instead of ${typeOf(value)}`)
    }
  }

  function compareRequests(id: string, old: Values, now: Values): void {
    for (const [place, { required }] of now) {
      if (required && !old.get(place)?.required) say(id, `${place} is required now`)
    }
    for (const [place, before] of old) {
      const after = now.get(place)
      if (!after) say(id, `${place} is gone`)
      if (after && typeOf(before) !== typeOf(after))
        say(id, `${place} is ${typeOf(after)} instead of ${typeOf(before)}`)
      for (const [keyword, isWithin] of Object.entries(LIMITS)) {
        const [own, bound] = [before, after].map((value) => value?.schema[keyword])
        if (!isWithin(own, bound)) say(id, `${place} has the ${keyword} ${bound} instead of ${own}`)
      }
    }
  }
}

const least = (own: unknown, bound: unknown) => bound === undefined || Number(own) >= Number(bound)
const most = (own: unknown, bound: unknown) => bound === undefined || Number(own) <= Number(bound)
const same = (own: unknown, bound: unknown) => bound === undefined || own === bound
/** What may restrict a request, and whether requests within the limit of the release are within that of now. */
const LIMITS: Readonly<Record<string, (own: unknown, bound: unknown) => boolean>> = {
  ...{ minimum: least, exclusiveMinimum: least, minLength: least, minItems: least },
  ...{ maximum: most, exclusiveMaximum: most, maxLength: most, maxItems: most },
  ...{ pattern: same, multipleOf: same },
  additionalProperties: (own, bound) => bound !== false || own === false,
}

/** A value of a request or a response. */
interface Value {
  readonly schema: JsonSchema
  readonly required: boolean
}
type Values = ReadonlyMap<string, Value>

function typeOf({ schema: { type, format } }: Value): string {
  return format === undefined ? String(type) : `${type} (${format})`
}

/** Lists the values of a request by their place. */
function valuesOfRequest({ parameters = [], requestBody }: Operation, document: OpenApiDocument): Values {
  const body = requestBody?.content['application/json'].schema
  return new Map([
    ...parameters.flatMap(({ name, schema, required = false, in: part }) =>
      valuesIn({ schema, required }, `${part}.${name}`, document),
    ),
    ...(body ? valuesIn({ schema: body, required: true }, 'body', document) : []),
  ])
}

/** Lists the values of the response of success by their place. */
function valuesOfResponse({ responses }: Operation, document: OpenApiDocument): Values {
  const success = Object.entries(responses).find(([status]) => status.startsWith('2'))?.[1]
  const schema = success?.content?.['application/json'].schema
  return new Map(schema ? valuesIn({ schema, required: true }, 'data', document) : [])
}

function valuesIn({ schema, required }: Value, place: string, document: OpenApiDocument): [string, Value][] {
  const target = schema.$ref?.split('/').at(-1)
  if (target !== undefined) {
    return valuesIn({ schema: document.components.schemas[target] ?? {}, required }, place, document)
  }
  const fields = Object.entries(schema.properties ?? {}).flatMap(([name, field]) => {
    return valuesIn({ schema: field, required: schema.required?.includes(name) ?? false }, `${place}.${name}`, document)
  })
  const items = schema.items ? valuesIn({ schema: schema.items, required: true }, `${place}.[]`, document) : []
  return [[place, { schema, required }], ...fields, ...items]
}

function codesOf({ components }: OpenApiDocument): Readonly<Record<string, number>> {
  return components.schemas['Error']?.properties?.['error']?.['x-codes'] as Readonly<Record<string, number>>
}

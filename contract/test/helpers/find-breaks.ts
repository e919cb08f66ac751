import type { JsonSchema, OpenApiDocument, Operation } from '../../src/openapi.ts'

/**
 * Finds what a client of a released document can no longer rely on though its types are the same, in a sentence each; a test of
 * the client compares the types. Libraries that compare documents were tried and left: api-smart-diff does not notice that a
 * field of a response is gone, openapi-diff does not read OpenAPI 3.1, and others are a downloaded binary or no longer maintained.
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
    if (scope !== other) say(id, `needs the scope ${other} instead of ${scope}`)
    if (before['x-idempotent'] && !after['x-idempotent']) say(id, 'is no longer idempotent')
    for (const [status, { headers }] of Object.entries(before.responses)) {
      const response = after.responses[status]
      if (!response) say(id, `the status ${status} is gone`)
      for (const [name, { required }] of Object.entries(headers)) {
        const header = response?.headers[name]
        const isLess = response && (!header || (required && !header.required))
        if (isLess) say(id, `the header ${name} of the response ${status} may be absent now`)
      }
    }
    const limits = new Map(limitsOf(after, current))
    for (const [place, old] of limitsOf(before, released)) {
      const now = limits.get(place) ?? {}
      for (const [keyword, isWithin] of Object.entries(LIMITS)) {
        if (isWithin(old[keyword], now[keyword])) continue
        say(id, `${place} has the ${keyword} ${now[keyword]} instead of ${old[keyword]}`)
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
  ...{ format: same, pattern: same, multipleOf: same },
  additionalProperties: (own, bound) => bound !== false || own === false,
  default: (own, now) => own === undefined || own === now,
}

/** Lists the values of a request by their place, each with its limits. */
function limitsOf({ parameters = [], requestBody }: Operation, document: OpenApiDocument): [string, JsonSchema][] {
  const bodies = requestBody ? [requestBody.content['application/json'].schema] : []
  return [
    ...parameters.flatMap((parameter) => limitsIn(parameter.schema, `${parameter.in}.${parameter.name}`, document)),
    ...bodies.flatMap((schema) => limitsIn(schema, 'body', document)),
  ]
}

function limitsIn(schema: JsonSchema, place: string, document: OpenApiDocument): [string, JsonSchema][] {
  const target = schema.$ref?.split('/').at(-1)
  if (target !== undefined) return limitsIn(document.components.schemas[target] ?? {}, place, document)
  // The alternatives of a union differ in their type, so few have the same limit.
  const own = Object.assign({}, schema, ...(schema.anyOf ?? []))
  const parts = Object.entries<JsonSchema>({ ...own.properties, ...(own.items && { '[]': own.items }) })
  return [[place, own], ...parts.flatMap(([name, part]) => limitsIn(part, `${place}.${name}`, document))]
}

function codesOf({ components }: OpenApiDocument): Readonly<Record<string, number>> {
  return components.schemas['Error']?.properties?.['error']?.['x-codes'] as Readonly<Record<string, number>>
}

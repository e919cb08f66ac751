import type { JsonSchema, OpenApiDocument, Operation } from '../../src/openapi.ts'

/**
 * Finds what a client of a released document can no longer rely on, in a sentence each. Libraries that compare documents were
 * tried and left: api-smart-diff does not notice that a field of a response is gone, openapi-diff does not read OpenAPI 3.1, and
 * others are a downloaded binary or no longer maintained.
 */
export function findBreaks(released: OpenApiDocument, current: OpenApiDocument): string[] {
  const breaks: string[] = []
  for (const [path, methods] of Object.entries(released.paths)) {
    for (const [method, before] of Object.entries(methods)) {
      const after = current.paths[path]?.[method]
      const found = after ? compareOperations(before, released, after, current) : [`${method} ${path} is gone`]
      breaks.push(...found.map((each) => `${before.operationId}: ${each}`))
    }
  }
  const codes = codesOf(current)
  const changed = Object.entries(codesOf(released)).filter(([name, code]) => codes[name] !== code)
  return [...breaks, ...changed.map(([name, code]) => `error ${code}: no longer means ${name}`)]
}

function compareOperations(before: Operation, released: OpenApiDocument, after: Operation, current: OpenApiDocument) {
  const [scope, other] = [before, after].map(({ security }) => security[0]?.bearer[0])
  const gone = Object.keys(before.responses).filter((status) => !after.responses[status])
  return [
    ...(before.operationId === after.operationId ? [] : [`is ${after.operationId} now`]),
    ...(scope === other ? [] : [`needs the scope ${other} instead of ${scope}`]),
    ...(before['x-idempotent'] && !after['x-idempotent'] ? ['is no longer idempotent'] : []),
    ...(before['x-paged'] && !after['x-paged'] ? ['is no longer paged'] : []),
    ...gone.map((status) => `the status ${status} is gone`),
    ...compareRequests(valuesOfRequest(before, released), valuesOfRequest(after, current)),
    ...compareResponses(valuesOfResponse(before, released), valuesOfResponse(after, current)),
  ]
}

function compareRequests(old: Values, now: Values): string[] {
  const added = [...now].filter(([place, { required }]) => required && !old.get(place)?.required)
  const changes = [...old].flatMap(([place, before]) => {
    const after = now.get(place)
    if (!after) return [`${place} is gone`]
    const limits = Object.entries(after.schema).filter(([keyword, limit]) => {
      return !isWithin(keyword, before.schema[keyword], limit)
    })
    const narrower = limits.map(
      ([keyword, limit]) => `${place} has the ${keyword} ${limit} instead of ${before.schema[keyword]}`,
    )
    return [...compareTypes(place, before, after), ...narrower]
  })
  return [...added.map(([place]) => `${place} is required now`), ...changes]
}

/** Whether all that a limit of the release allows is allowed now. */
function isWithin(keyword: string, released: unknown, limit: unknown): boolean {
  if (/^(exclusiveM|m)in/.test(keyword)) return Number(released) >= Number(limit)
  if (/^(exclusiveM|m)ax/.test(keyword)) return Number(released) <= Number(limit)
  return !['pattern', 'multipleOf', 'additionalProperties'].includes(keyword) || released === limit
}

function compareResponses(old: Values, now: Values): string[] {
  return [...old].flatMap(([place, before]) => {
    const after = now.get(place)
    if (!after || (before.required && !after.required)) return [`${place} may be absent now`]
    return compareTypes(place, before, after)
  })
}

function compareTypes(place: string, ...values: [before: Value, after: Value]): string[] {
  const [before, after] = values.map(({ schema: { type, format } }) => (format ? `${type} (${format})` : `${type}`))
  return before === after ? [] : [`${place} is ${after} instead of ${before}`]
}

/** A value of a request or a response. */
interface Value {
  readonly schema: JsonSchema
  readonly required: boolean
}
type Values = ReadonlyMap<string, Value>

/** Lists the values of a request by their place. */
function valuesOfRequest({ parameters, requestBody }: Operation, document: OpenApiDocument): Values {
  const body = requestBody?.content['application/json'].schema
  return new Map([
    ...(parameters ?? []).flatMap(({ name, schema, required = false, in: part }) =>
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
  const target = document.components.schemas[schema.$ref?.split('/').at(-1) ?? '']
  if (target) return valuesIn({ schema: target, required }, place, document)
  const fields = Object.entries(schema.properties ?? {}).flatMap(([name, field]) => {
    return valuesIn({ schema: field, required: schema.required?.includes(name) ?? false }, `${place}.${name}`, document)
  })
  const items = schema.items ? valuesIn({ schema: schema.items, required: true }, `${place}.[]`, document) : []
  return [[place, { schema, required }], ...fields, ...items]
}

function codesOf({ components }: OpenApiDocument): Readonly<Record<string, number>> {
  return components.schemas['Error']?.properties?.['error']?.['x-codes'] as Readonly<Record<string, number>>
}

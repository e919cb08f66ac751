/** Requests derived from the contract: each field is valid, at a limit or beyond it, of another type, repeated or missing. */
import { createOpenApiDocument, type JsonSchema } from '@plant-store/contract/openapi'
import fc from 'fast-check'
import { FICUS, PLANTS, stringify } from './operations.ts'

/** A request, as its first line and the text of its body. `<cursor>` stands for the cursor of the last page. */
export interface AnyRequest {
  readonly request: string
  readonly body: string
}

type Fields = Readonly<Record<string, JsonSchema>>

const { paths, components } = createOpenApiDocument()
const operations = Object.entries(paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ path, method: method.toUpperCase(), ...operation })),
)

/** Few, so that requests meet what others have stored. */
const COMMON: Record<string, readonly unknown[]> = {
  integer: [1, ...PLANTS.map(({ id }) => id), FICUS.id - 1n],
  string: ['fig', 'Ficus'],
  boolean: [true, false],
}
const TEXTS = ['fig ', '', '"', '🪴', '\0', 'x'.repeat(200)]
/** The literal segments of all paths: one may stand where another path has a parameter. */
const SEGMENTS = Object.keys(paths).flatMap((path) => path.match(/[^/{}]+(?=\/|$)/g) ?? [])
const OTHERS = ['null', 'true', '1.5', '"1"', '[]', '{}']
const INT64 = { minimum: -(2n ** 63n), maximum: 2n ** 63n - 1n }

/** Returns values of a field, as JSON. `more` are as common as those of its type. */
function valuesOf(name: string, schema: JsonSchema, more: readonly string[] = []): fc.Arbitrary<string> {
  const { type: types, format } = schema
  const [type = '', isNullable] = [types].flat()
  const { minimum, maximum } = format === 'int64' ? INT64 : schema
  const limits = [minimum, maximum].flatMap((limit) => (limit === undefined ? [] : [BigInt(limit as bigint)]))
  const near = limits.flatMap((limit) => [limit - 1n, limit, limit + 1n].map(String))
  const common = name === 'cursor' ? ['<cursor>'] : [...(COMMON[type] ?? []), ...(isNullable ? [null] : []), ...more]
  const texts = [...common, ...TEXTS].map((text) => String(stringify(text)))
  return fc.oneof(
    { weight: 9, arbitrary: fc.constantFrom(...texts.slice(0, common.length)) },
    { weight: 1, arbitrary: fc.constantFrom(...texts, ...near, ...OTHERS) },
  )
}

/** Returns what a part of a request has: a list of fields with their values, as JSON. A path has all. */
function someOf(fields: Fields, isPath = false): fc.Arbitrary<[name: string, value: string][]> {
  const all = Object.entries(fields).map(([name, schema]) => [name, valuesOf(name, schema, isPath ? SEGMENTS : [])])
  const values: Record<string, fc.Arbitrary<string>> = Object.fromEntries(all)
  return fc.record(values, { requiredKeys: isPath ? Object.keys(fields) : [] }).map((record) => Object.entries(record))
}

/** Returns a value as text in a path or a query. */
function toText(value: string): string {
  const read: unknown = JSON.parse(value)
  return typeof read === 'string' ? read : value
}

/** Any request of any operation. */
export const anyRequest: fc.Arbitrary<AnyRequest> = fc
  .constantFrom(...operations)
  .chain((operation) => {
    const schema = operation.requestBody?.content['application/json'].schema
    const { properties = {} } = components.schemas[schema?.$ref?.split('/').at(-1) ?? ''] ?? schema ?? {}
    const [inPath, inQuery] = ['path', 'query'].map((part): Fields => {
      const own = operation.parameters.filter((each) => each.in === part)
      return Object.fromEntries(own.map((each) => [each.name, each.schema]))
    })
    const parts = [someOf(inPath ?? {}, true), someOf(inQuery ?? {}), someOf(properties)] as const
    return fc.tuple(fc.constant(operation), ...parts, fc.boolean())
  })
  .map(([{ method, path, requestBody }, segments, query, body, isUnknown]) => {
    const values = new Map(segments)
    const target = path.replace(/\{(\w+)\}/g, (_, field) => encodeURIComponent(toText(values.get(field) ?? '1')))
    const pairs = query.map(([field, value]) => [field, toText(value)])
    const unknown = isUnknown ? [['height', '3']] : []
    const search = new URLSearchParams([...pairs, ...unknown] as [string, string][])
    const members = [...body, ...unknown].map(([field, value]) => `${JSON.stringify(field)}:${value}`)
    const request = `${method} ${target}${search.size > 0 ? `?${search}` : ''}`
    return { request, body: requestBody ? `{${members}}` : '' }
  })

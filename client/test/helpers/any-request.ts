/** Requests derived from the contract: each field is valid, at a limit or beyond it, of another type, repeated or missing. */
import fc from 'fast-check'
import { FICUS, stringify } from '../../../test/helpers/operations.ts'
import { requestRules } from '../../src/generated/requests.ts'
import { type OperationName, routes } from '../../src/generated/routes.ts'

type Rules = (typeof requestRules)[OperationName]['body']
type Rule = Rules[string]

/** A request, as its first line and the text of its body. `<cursor>` stands for the cursor of the last page. */
export interface AnyRequest {
  readonly request: string
  readonly body: string
}

/** Few, so that requests meet what others have stored. */
const COMMON: Record<string, readonly unknown[]> = {
  integer: [1, 2, FICUS.id, FICUS.id - 1n],
  string: ['fig', 'Ficus'],
  boolean: [true, false],
}
const TEXTS = ['fig ', '', '"', '🪴', '\0', 'x'.repeat(200)]
const OTHERS = ['null', 'true', '1.5', '"1"', '[]', '{}']

/** Returns values of a field, as JSON. */
function valuesOf(name: string, { type, values, items, minimum, maximum }: Rule): fc.Arbitrary<string> {
  if (items) return fc.array(valuesOf(name, items), { maxLength: 3 }).map((list) => `[${list}]`)
  const limits = [minimum, maximum].flatMap((limit) => (limit === undefined ? [] : [BigInt(limit)]))
  const near = limits.flatMap((limit) => [limit - 1n, limit, limit + 1n].map(String))
  const common = name === 'cursor' ? ['<cursor>'] : (values ?? COMMON[type] ?? [])
  const texts = [...common, ...TEXTS].map((text) => String(stringify(text)))
  return fc.oneof(
    { weight: 9, arbitrary: fc.constantFrom(...texts.slice(0, common.length)) },
    { weight: 1, arbitrary: fc.constantFrom(...texts, ...near, ...OTHERS) },
  )
}

/** Returns what a part of a request has: a list of fields with their values, as JSON. */
function fieldsOf(rules: Rules, isComplete = false): fc.Arbitrary<[name: string, value: string][]> {
  const all = Object.entries(rules).map(([name, rule]) =>
    fc
      .option(valuesOf(name, rule), { freq: isComplete ? Number.MAX_SAFE_INTEGER : 3, nil: undefined })
      .map((value) => [name, value] as const),
  )
  return fc
    .tuple(...all)
    .map((fields) => fields.flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])))
}

/** Returns a value as text in a path or a query. */
function toText(value: string): string[] {
  const read: unknown = JSON.parse(value)
  return [read].flat().map((each) => (typeof each === 'string' ? each : value))
}

/** Any request of any operation. */
export const anyRequest: fc.Arbitrary<AnyRequest> = fc
  .constantFrom(...(Object.keys(routes) as OperationName[]))
  .chain((name) => {
    const { path, query, body } = requestRules[name]
    return fc.tuple(fc.constant(name), fieldsOf(path, true), fieldsOf(query), fieldsOf(body), fc.boolean())
  })
  .map(([name, path, query, body, isUnknown]) => {
    const { method, path: pattern } = routes[name]
    const segments = new Map(path)
    const target = pattern.replace(/\{(\w+)\}/g, (_, field) =>
      encodeURIComponent(toText(segments.get(field) ?? '1').join()),
    )
    const pairs = query.flatMap(([field, value]) => toText(value).map((text) => [field, text]))
    const unknown = isUnknown ? [['height', '3']] : []
    const search = new URLSearchParams([...pairs, ...unknown] as [string, string][])
    const members = [...body, ...unknown].map(([field, value]) => `${JSON.stringify(field)}:${value}`)
    const request = `${method} ${target}${search.size > 0 ? `?${search}` : ''}`
    return { request, body: Object.keys(requestRules[name].body).length > 0 ? `{${members}}` : '' }
  })

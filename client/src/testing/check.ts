import type { Scope } from '../generated/requests.ts'
import type { Int64Places } from '../wire/read-exactly.ts'
import { parseUrl } from '../wire/request.ts'
import { isObject, reject, union } from '../wire/write.ts'

/** A schema of the OpenAPI document. */
export interface Schema {
  readonly type?: string
  readonly format?: string
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly anyOf?: readonly Schema[]
  readonly items?: Schema
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly additionalProperties?: Schema | false
  /** The default, or a bound of the value. */
  readonly [keyword: string]: unknown
}

/** What the service accepts of an operation. */
export interface RequestRules {
  /** The scope that a token must have. */
  readonly scope: Scope
  readonly path?: Schema
  readonly query?: Schema
  readonly headers?: Schema
  readonly body?: Schema
  /** Where the body has int64s. */
  readonly int64s?: Int64Places
}

const TYPES: Readonly<Record<string, (value: unknown) => boolean>> = {
  array: Array.isArray,
  boolean: (value) => typeof value === 'boolean',
  int64: (value) => typeof value === 'bigint' && BigInt.asIntN(64, value) === value,
  integer: Number.isInteger,
  null: (value) => value === null,
  // The service reads an integer that a number would round as an int64.
  number: (value) => typeof value === 'number' && (Number.isSafeInteger(value) || !Number.isInteger(value)),
  object: isObject,
  string: (value) => typeof value === 'string',
}

const BOUNDS: Readonly<Record<string, (value: never, bound: never) => boolean>> = {
  minimum: (value, bound) => value >= bound,
  maximum: (value, bound) => value <= bound,
  exclusiveMinimum: (value, bound) => value > bound,
  exclusiveMaximum: (value, bound) => value < bound,
  multipleOf: (value, bound) => value % bound === 0,
  minLength: ({ length }: string, bound) => length >= bound,
  maxLength: ({ length }: string, bound) => length <= bound,
  minItems: ({ length }: unknown[], bound) => length >= bound,
  maxItems: ({ length }: unknown[], bound) => length <= bound,
  pattern: (value, bound) => new RegExp(bound).test(value),
  allOf: (value, bound: { pattern: string }[]) => bound.every(({ pattern }) => new RegExp(pattern).test(value)),
  format: (value, format) => format !== 'uri' || parseUrl(value) !== undefined,
}

/**
 * Checks a value as the service does. Returns what an operation gets: with defaults, and without unknown fields.
 *
 * @param field the path of the value, for error messages; empty for the whole
 * @throws UsageError if the value is invalid
 */
export function check(value: unknown, schema: Schema, field: string): unknown {
  const { anyOf, enum: values = 'const' in schema ? [schema.const] : undefined, type = '', format, items } = schema
  if (anyOf) return checkAlternatives(value, anyOf, field)
  if (values?.includes(value)) return value
  if (values) return reject(field, `must be ${values.map((each) => JSON.stringify(each)).join(' or ')}`)
  const isValid = TYPES[format === 'int64' ? format : type]?.(value)
  const [bound] = Object.entries(schema).filter(
    ([name, own]) => isValid && BOUNDS[name]?.(value as never, own as never) === false,
  )
  if (!isValid || bound) {
    const { minimum, maximum } = format === 'int64' ? { minimum: -(2n ** 63n), maximum: 2n ** 63n - 1n } : schema
    const range = maximum === undefined ? bound && ` with ${bound.join(' ')}` : ` between ${minimum} and ${maximum}`
    reject(
      field,
      `must be ${/^[aio]/.test(type) ? 'an' : 'a'} ${type}${range ?? ''}${format === 'int64' ? ' (int64)' : ''}`,
    )
  }
  if (items) return (value as unknown[]).map((item, index) => check(item, items, `${field}.${index}`))
  return type === 'object' ? checkFields(value as Record<string, unknown>, schema, field) : value
}

/** Checks a value of which each alternative has another type, or another literal in a field. */
function checkAlternatives(value: unknown, schemas: readonly Schema[], field: string): unknown {
  const isMeant = ({ properties = {} }: Schema): boolean =>
    Object.entries(properties).every(([name, part]) => !('const' in part) || part.const === Object(value)[name])
  const meant = schemas.some(isMeant) ? schemas.filter(isMeant) : schemas
  const checks = meant.map((schema) => (part: unknown, path: string) => check(part, schema, path) as string)
  return union(...checks)(value, field)
}

function checkFields(value: Readonly<Record<string, unknown>>, schema: Schema, field: string): Record<string, unknown> {
  const { properties = {}, required = [], additionalProperties } = schema
  const names = new Set([...Object.keys(properties), ...Object.keys(value)])
  const fields = [...names].flatMap((name): [string, unknown][] => {
    const own = Object.hasOwn(properties, name) ? properties[name] : additionalProperties
    const path = field ? `${field}.${name}` : name
    if (own === false) return reject(path, 'is unknown; remove it')
    if (Object.hasOwn(value, name)) return own ? [[name, check(value[name], own, path)]] : []
    if (required.includes(name)) reject(path, 'is required')
    return own && 'default' in own ? [[name, own['default']]] : []
  })
  return Object.fromEntries(fields)
}

import * as z from 'zod'
import { boundsOf } from './describe-exactly.ts'

/** Whether a schema is of a body or a parameter that the client sends, or of what it receives. */
export type Direction = 'input' | 'parameter' | 'output'

/** Schemas of values that JSON does not have, and what to use for them. */
const NOT_JSON: Readonly<Record<string, string>> = {
  custom: 'use another schema with .refine()',
  date: 'use z.iso.datetime()',
  file: 'use z.base64()',
  function: 'remove it',
  map: 'use z.record()',
  nan: 'use z.number()',
  promise: 'use the schema of its value',
  set: 'use z.array()',
  success: 'use the schema itself',
  symbol: 'use z.string()',
  transform: 'use z.codec() or .pipe()',
  undefined: 'use .optional()',
  void: 'use .optional()',
}

/** Schemas whose output differs from their input. ts-rest sends a response as the handler returns it. */
const CHANGED: ReadonlySet<string> = new Set(['default', 'pipe', 'prefault'])

/**
 * Checks that JSON and JSON Schema can express a schema and all its parts.
 *
 * @throws Error with the first part that they cannot
 */
export function requireJson(
  schema: z.core.$ZodType,
  place: string,
  direction: Direction,
  seen = new Set<z.core.$ZodType>(),
  around: readonly z.core.$ZodType[] = [],
): void {
  const { override, id } = z.globalRegistry.get(schema) ?? {}
  // Without a name it would be a component such as `__schema0`.
  if (around.includes(schema) && id === undefined) {
    throw new Error(`${place}: contains itself; refer to the inner one by its id`)
  }
  // Metadata with `override` describes the whole value.
  if (seen.has(schema) || override) return
  seen.add(schema)
  const problem = findProblem(schema as z.core.$ZodTypes)
  if (problem) throw new Error(`${place}: ${problem}`)
  for (const [suffix, part] of partsOf(schema, direction)) {
    requireJson(part, place + suffix, direction, seen, [...around, schema])
  }
  const difference = findDifference(schema as z.core.$ZodTypes, direction)
  if (difference) throw new Error(`${place}: ${difference}`)
}

function findProblem(schema: z.core.$ZodTypes): string | undefined {
  const { def } = schema._zod
  const replacement = NOT_JSON[def.type]
  if (replacement) return `z.${def.type}() is not JSON; ${replacement}`
  if (def.type === 'literal' && def.values.includes(undefined)) return 'undefined is not JSON; use .optional()'
  if (def.type === 'array' && mayBeUndefined(def.element))
    return 'has optional items, but JSON has none; use .nullable()'
  const rounded = bigintsOf(schema).find((value) => !Number.isSafeInteger(Number(value)))
  if (rounded !== undefined) return `JSON Schema would round ${rounded}; use .refine() and describe it in words`
  if (bigintsIn(z.globalRegistry.get(schema)?.['examples']).length > 0)
    return 'an example has a bigint; write it as a number'
  const flags = patternsOf(schema).flatMap((pattern) => pattern.flags.match(/[ims]/) ?? [])
  if (flags.length > 0)
    return `JSON Schema has no regular expression flags; write the pattern without the flag ${flags[0]}`
  return undefined
}

function mayBeUndefined({ _zod }: z.core.$ZodType): boolean {
  const { def } = _zod as z.core.$ZodTypes['_zod']
  if (def.type === 'optional') return true
  const wraps = def.type === 'nullable' || def.type === 'readonly'
  return wraps && mayBeUndefined(def.innerType)
}

/** Says how what is sent differs from what the document would describe. */
function findDifference({ _zod: { def } }: z.core.$ZodTypes, direction: Direction): string | undefined {
  const coerces = 'coerce' in def && def.coerce === true
  if (direction === 'output' && (CHANGED.has(def.type) || coerces)) {
    return 'is sent as the handler returns it, before zod changes it; use the schema of what is sent'
  }
  if (direction === 'input' && def.type === 'literal' && def.values.some((value) => typeof value === 'bigint')) {
    return 'rejects the numbers of JSON; use a number as the literal'
  }
  if (direction === 'input' && def.type === 'bigint' && !coerces) {
    return 'rejects integers below 2^53, which are numbers in JSON; use Int64Schema'
  }
  return undefined
}

/** Lists the parts of a schema, each with what it adds to the place. */
export function partsOf(schema: z.core.$ZodType, direction: Direction): [string, z.core.$ZodType][] {
  const { def } = schema._zod as z.core.$ZodTypes['_zod']
  switch (def.type) {
    case 'object':
      return [
        ...Object.entries(def.shape).map(([name, field]): [string, z.core.$ZodType] => [`.${name}`, field]),
        ...rest(def.catchall, '.*'),
      ]
    case 'array':
      return [['[]', def.element]]
    case 'tuple':
      return [
        ...def.items.map((item, index): [string, z.core.$ZodType] => [`[${index}]`, item]),
        ...rest(def.rest, '[]'),
      ]
    case 'record':
      return [['.*', def.valueType]]
    case 'union':
      return def.options.map((option) => ['', option])
    case 'intersection':
      return [
        ['', def.left],
        ['', def.right],
      ]
    case 'pipe':
      return [['', direction === 'output' || def.in._zod.def.type === 'transform' ? def.out : def.in]]
    case 'lazy':
      return [['', def.getter()]]
    default:
      return 'innerType' in def ? [['', def.innerType]] : []
  }
}

function rest(schema: z.core.$ZodType | null | undefined, suffix: string): [string, z.core.$ZodType][] {
  return schema ? [[suffix, schema]] : []
}

/** Lists the bigints that the JSON Schema of a schema has to write. */
function bigintsOf({ _zod: { def } }: z.core.$ZodTypes): bigint[] {
  const values: unknown[] = boundsOf(def).map(({ value }) => value)
  if (def.type === 'literal') values.push(...def.values)
  if (def.type === 'default' || def.type === 'prefault') values.push(def.defaultValue)
  return bigintsIn(values)
}

function bigintsIn(value: unknown): bigint[] {
  if (typeof value === 'bigint') return [value]
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(bigintsIn) : []
}

function patternsOf({ _zod }: z.core.$ZodType): RegExp[] {
  const definitions = [_zod.def, ...(_zod.def.checks ?? []).map((check) => check._zod.def)]
  return definitions.flatMap((definition) =>
    'pattern' in definition && definition.pattern instanceof RegExp ? definition.pattern : [],
  )
}

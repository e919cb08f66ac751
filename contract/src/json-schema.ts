/**
 * Describes zod schemas in the part of JSON Schema that the document, the SDK and every client can express exactly. This is
 * the one place that rejects a schema: what has no case here would be lost or rounded.
 */
import * as z from 'zod'

/** Where a value is: in the body of a request or a response, or in a parameter, which arrives as text. */
export type Direction = 'request' | 'parameter' | 'response'

/** A value that a literal can be. */
export type Literal = string | number | boolean | null

/** A JSON Schema as this module writes it. Other keywords are annotations, or are for the service to check. */
export interface JsonSchema {
  readonly $ref?: string
  readonly type?: 'string' | 'number' | 'integer' | 'boolean' | 'null' | 'array' | 'object'
  readonly format?: string
  readonly const?: Literal
  readonly enum?: readonly Literal[]
  readonly items?: JsonSchema
  readonly properties?: Readonly<Record<string, JsonSchema>>
  readonly required?: readonly string[]
  readonly additionalProperties?: JsonSchema | false
  readonly anyOf?: readonly JsonSchema[]
  readonly title?: string
  readonly description?: string
  readonly deprecated?: boolean
  readonly default?: unknown
  readonly examples?: readonly unknown[]
  readonly [keyword: string]: unknown
}

/** The schemas that have an id, by it, each with what describes it. */
export type Components = Map<string, { readonly schema: z.core.$ZodType; json: JsonSchema }>

/** Where a schema is in the contract. */
export interface Place {
  /** The operation and the path to the value, for error messages. */
  readonly name: string
  readonly direction: Direction
  readonly components: Components
  /** The schemas around it. */
  readonly outer?: readonly z.core.$ZodType[]
  /** Whether a list is accepted, because `z.preprocess()` makes one of a single item. */
  readonly isList?: boolean
}

const ADVICE: Readonly<Record<string, string>> = {
  any: 'describe the value, whose integers could be rounded',
  unknown: 'describe the value, whose integers could be rounded',
  custom: 'use another schema with .refine(), or z.base64() for bytes',
  catch: 'use .default()',
  date: 'use z.iso.datetime()',
  file: 'use z.base64(), since bodies are JSON',
  intersection: 'use one object with all fields, for example with .extend()',
  lazy: 'use the schema itself, which must not contain itself',
  map: 'use z.record()',
  never: 'omit the field',
  prefault: 'use .default()',
  set: 'use z.array()',
  template_literal: 'use z.string().regex()',
  transform: 'use z.codec() or .pipe()',
  tuple: 'use an object',
  undefined: 'use .optional(), or c.noBody()',
}
const NOT_TEXT =
  'rejects text, which every parameter is; use TextSchema, z.enum(), Int64TextSchema, z.stringbool() or z.codec()'
const NUMBER_FORMATS: Readonly<Record<string, JsonSchema>> = {
  int32: { format: 'int32' },
  float32: { format: 'float' },
  float64: { format: 'double' },
}
const ANNOTATIONS = /^(?:title|description|examples|deprecated|readOnly|writeOnly|\$comment|x-.*)$/

/** Rejects a part of the contract. */
export function reject({ name }: { name: string }, reason: string): never {
  throw new Error(`${name}: ${reason}`)
}

/** Returns the place of a part. */
export function at<T extends { name: string }>(place: T, suffix: string): T {
  return { ...place, name: place.name + suffix }
}

/**
 * Describes a schema with all its parts.
 *
 * @throws Error with the place and the fix, if it could not be sent or described exactly
 */
export function describe(schema: z.core.$ZodType, place: Place): JsonSchema {
  const { outer = [] } = place
  if (outer.includes(schema)) {
    reject(place, 'contains itself, which is not supported; use a flat list whose items have the id of their parent')
  }
  const { id, override, inRequests, ...metadata } = z.globalRegistry.get(schema) ?? {}
  if (!override || place.direction !== 'response') requireSameOnBothSides(schema as z.core.$ZodTypes, place)
  const inner = { ...place, outer: [...outer, schema] }
  // A parameter is checked as the text that it is before zod parses it, however the result is described.
  const form = override && place.direction !== 'parameter' ? {} : describeForm(schema as z.core.$ZodTypes, inner)
  const unknown = Object.keys(metadata).find((name) => !ANNOTATIONS.test(name))
  if (unknown) reject(place, `the metadata "${unknown}" is not supported; name it "x-${unknown}", or use \`override\``)
  const described = {
    ...(override ? readOverride(override, place) : form),
    ...(toJson(metadata, place) as object),
    ...(place.direction === 'response' ? {} : (inRequests as object)),
  }
  checkExamples(described, place)
  return id === undefined ? described : refer(id, schema, described, place)
}

/** Rejects an example of another type than the value, which would not compile in an app. */
function checkExamples(schema: JsonSchema, place: Place): void {
  const wrong = schema.examples?.find((example) => !isOfType(example, schema, place.components))
  if (wrong === undefined) return
  const type = schema.type === undefined ? 'one of the values or types' : `of the type ${schema.type}`
  reject(place, `the example ${JSON.stringify(wrong)} is not ${type}, or has a part that is not; write one that is`)
}

function isOfType(value: unknown, schema: JsonSchema, components: Components): boolean {
  const { type, anyOf, enum: values, items, properties = {}, required = [], ...rest } = resolve(schema, components)
  if (anyOf) return anyOf.some((each) => isOfType(value, each, components))
  if (values || 'const' in rest) return (values ?? [rest.const]).includes(value as Literal)
  if (type === 'integer') return Number.isInteger(value)
  const own = value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value
  if (own !== (type ?? own)) return false
  if (items) return (value as unknown[]).every((item) => isOfType(item, items, components))
  if (type !== 'object') return true
  const fields = value as Readonly<Record<string, unknown>>
  return (
    required.every((name) => name in fields) &&
    Object.entries(properties).every(([name, part]) => !(name in fields) || isOfType(fields[name], part, components))
  )
}

/** Returns a zod schema of the contract. */
export function requireSchema(value: unknown, place: Place): z.ZodType {
  if (typeof value === 'object' && value !== null && '_zod' in value) return value as z.ZodType
  if (value instanceof Object && 'contentType' in value) requireJson(String(value.contentType), place)
  return reject(place, 'is not a schema of zod 4, which c.type() does not have; use z, or c.noBody()')
}

/** Rejects another content type. */
export function requireJson(contentType: string, place: Place): void {
  const fix = 'send text as z.string(), bytes as z.base64()'
  if (contentType !== 'application/json')
    reject(place, `has the content type ${contentType}; only JSON is supported: ${fix}`)
}

/** Rejects a value that may be absent: only fields and parameters may. */
export function requirePresent(schema: z.core.$ZodType, place: Place, advice: string): void {
  if (isOptional(schema)) reject(place, `is optional; ${advice}`)
}

/** Whether a field or parameter may be absent. Unlike zod's own `optin`, it is exact for `z.preprocess()`. */
export function isOptional(schema: z.core.$ZodType): boolean {
  const { def } = schema._zod as z.core.$ZodTypes['_zod']
  if (['optional', 'default'].includes(def.type)) return true
  if (def.type === 'pipe') return isOptional(sentBy(def))
  return 'innerType' in def && isOptional(def.innerType)
}

/** Returns the schema of a component, and of what it refers to. */
export function resolve({ $ref, ...json }: JsonSchema, components: Components): JsonSchema {
  const target = $ref && components.get($ref.slice($ref.lastIndexOf('/') + 1))
  return target ? resolve(target.json, components) : json
}

/** Refers to a component. One that requests and responses share is described as requests send it. */
function refer(id: string, schema: z.core.$ZodType, json: JsonSchema, place: Place): JsonSchema {
  const known = place.components.get(id)
  if (known && known.schema !== schema) reject(place, `another schema has the id ${id}; use one schema, or rename one`)
  if (!known || place.direction === 'request') place.components.set(id, { schema, json })
  return { $ref: `#/components/schemas/${id}` }
}

/** Rejects a schema that reads something else than what is sent. */
function requireSameOnBothSides({ _zod: { def } }: z.core.$ZodTypes, place: Place): void {
  const coerces = 'coerce' in def && def.coerce === true
  if (place.direction === 'response' && (coerces || ['default', 'pipe'].includes(def.type))) {
    reject(place, 'is sent as the handler returns it, before zod changes it; use the schema of what is sent')
  }
  if (coerces) {
    reject(place, 'z.coerce reads other values too, such as "0x10", " 1" and ""; use Int64TextSchema, or z.codec()')
  }
  if (place.direction === 'request' && def.type === 'bigint') {
    reject(place, 'rejects integers below 2^53, which are numbers in JSON; use Int64Schema')
  }
  if (place.direction !== 'parameter') return
  if (def.type === 'array' && !place.isList) {
    reject(place, 'rejects a single item; use z.preprocess((value) => [value].flat(), z.array(...)) in a query')
  }
  if (def.type === 'nullable') reject(place, 'is never null in a parameter, which is text; use .optional()')
  if (def.type === 'union') reject(place, 'a union is not supported in a parameter; use TextSchema with .refine()')
  if (['object', 'record', 'null', 'boolean', 'number', 'bigint'].includes(def.type)) reject(place, NOT_TEXT)
}

function describeForm(schema: z.core.$ZodTypes, place: Place): JsonSchema {
  const { def } = schema._zod
  switch (def.type) {
    case 'string':
    case 'boolean':
    case 'null':
    case 'number':
    case 'literal':
    case 'enum':
      return describeLeaf(schema, place)
    case 'bigint':
      if ('format' in def && def.format === 'uint64') {
        reject(place, 'may be above int64, which would be rounded; use z.int() or z.int64()')
      }
      return { type: 'integer', format: 'int64' }
    case 'array':
      return describeList(schema, def, place)
    case 'object':
      return describeObject(def, place)
    case 'record':
      return describeRecord(def, place)
    case 'union':
      return describeUnion(schema, def, place)
    case 'nullable':
      return { anyOf: [describe(def.innerType, place), { type: 'null' }] }
    case 'default':
      return describeDefault(def, place)
    case 'pipe':
      // Described is what is sent to a codec, `.transform()`, `.pipe()` or `z.preprocess()`.
      return (
        describeParsed(schema, def, place) ??
        describe(sentBy(def), { ...place, isList: sentBy(def) !== def.in && /query\./.test(place.name) })
      )
    case 'optional':
    case 'readonly':
      return describe(def.innerType, place)
    default:
      return reject(place, `z.${def.type}() is not supported; ${ADVICE[def.type] ?? 'use another schema'}`)
  }
}

/** Describes a schema without parts. */
function describeLeaf(schema: z.core.$ZodTypes, place: Place): JsonSchema {
  const { def, values = [] } = schema._zod
  for (const part of [def, ...(def.checks ?? []).map((check) => check._zod.def)]) {
    const flags = 'pattern' in part && part.pattern instanceof RegExp ? part.pattern.flags : ''
    const [flag] = /[imsvy]/.exec(flags) ?? []
    if (flag) reject(place, `JSON Schema has no regular expression flags; write the pattern without the flag ${flag}`)
  }
  for (const value of values) {
    if (value === undefined) reject(place, 'undefined is not JSON; use .optional()')
    if (typeof value === 'bigint') reject(place, `a bigint such as ${value} is not JSON; use a number as the literal`)
    if (typeof value === 'number' && Number.isInteger(value) && !Number.isSafeInteger(value)) {
      reject(place, `JSON could round ${value}; use a safe integer as the literal, or an int64`)
    }
    if (place.direction === 'parameter' && typeof value !== 'string') reject(place, NOT_TEXT)
  }
  return { ...byZod(schema), ...('format' in def && NUMBER_FORMATS[String(def.format)]) }
}

/** Describes a schema as zod does, without metadata. */
function byZod(schema: z.core.$ZodType): JsonSchema {
  const { $schema: _, ...json } = z.toJSONSchema(schema, { metadata: z.registry(), unrepresentable: 'any' })
  return json as JsonSchema
}

function describeList(schema: z.core.$ZodType, { element }: z.core.$ZodArrayDef, place: Place): JsonSchema {
  const item = { ...at(place, '[]'), isList: false }
  requirePresent(element, item, 'JSON has no absent items, so use .nullable()')
  const items = describe(element, item)
  return { ...byZod(schema), items }
}

function describeObject({ shape, catchall }: z.core.$ZodObjectDef, place: Place): JsonSchema {
  const isClosed = catchall?._zod.def.type === 'never'
  if (catchall && !isClosed) {
    reject(place, 'an object with other fields than the named ones is not supported; add a field that is a z.record()')
  }
  const fields = Object.entries(shape)
  const properties = fields.map(([name, field]) => {
    const own = at(place, `.${name}`)
    requireFieldName(name, own)
    return [name, describe(field, own)]
  })
  const required = fields.filter(([, field]) => !isOptional(field)).map(([name]) => name)
  return {
    type: 'object',
    properties: Object.fromEntries(properties),
    ...(required.length > 0 && { required }),
    // A later version may add fields to a response, so that clients must not reject unknown ones.
    ...(isClosed && place.direction === 'request' && { additionalProperties: false }),
  }
}

/** An object without such a field inherits one; in the SDK `*` and `[]` stand for every field and item. */
export function requireFieldName(name: string, place: Place): void {
  if (name in Object.prototype || name === '*' || name === '[]') reject(place, 'this name is not supported; rename it')
}

/** Describes an object whose field names are data. */
function describeRecord({ keyType, valueType, mode }: z.core.$ZodRecordDef, place: Place): JsonSchema {
  const keys = describe(keyType, at(place, ': its names'))
  if (keys.type !== 'string' || keys.enum || 'const' in keys || mode === 'loose') {
    reject(place, 'the names of a record are any text; use z.object() for known names')
  }
  requirePresent(valueType, at(place, '.*'), 'use .nullable()')
  const values = describe(valueType, at(place, '.*'))
  return { type: 'object', propertyNames: keys, additionalProperties: values }
}

function describeDefault(def: z.core.$ZodDefaultDef, place: Place): JsonSchema {
  const described = describe(def.innerType, place)
  const value = toJson(def.defaultValue, place)
  const isParsed = place.direction === 'parameter' && ['boolean', 'number', 'integer'].includes(String(described.type))
  if (!z.safeParse(def.innerType, isParsed ? String(value) : value).success) {
    reject(place, 'the default is not a value that a client can send; use .optional(), and the default in the handler')
  }
  return { ...described, default: value }
}

/** Describes text that is parsed to a number or a boolean as that, of which clients send the text that `String` writes. */
function describeParsed(schema: z.core.$ZodType, def: z.core.$ZodPipeDef, place: Place): JsonSchema | undefined {
  let out = def.out as z.core.$ZodTypes
  while (out._zod.def.type === 'pipe') out = out._zod.def.out as z.core.$ZodTypes
  const { type } = out._zod.def
  const texts = type === 'boolean' ? ['true', 'false'] : ['0', '1', '-1', '20', '3000']
  if (!['boolean', 'number', 'bigint'].includes(type) || sentBy(def) !== def.in) return undefined
  const sent = describe(def.in, place)
  if (sent.type !== 'string' || sent.enum) return undefined
  if (place.direction !== 'parameter') {
    reject(place, 'is text, although JSON has numbers and booleans; use z.boolean(), z.int() or Int64Schema')
  }
  const isSame = texts.every((text) => {
    const { success, data } = parse(schema, text, place)
    return success ? String(data) === text : type !== 'boolean'
  })
  if (isSame) return describeForm(out, place)
  return type === 'boolean' ? reject(place, 'does not read "true" and "false" as booleans; use z.enum()') : undefined
}

/** Parses a value as a server does, which responds with a 500 if the schema throws. */
export function parse(schema: z.core.$ZodType, value: unknown, place: Place): z.ZodSafeParseResult<unknown> {
  try {
    return z.safeParse(schema, value)
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    const fix = 'check the text first, for example with z.url() or .regex(), and what is asynchronous in the handler'
    return reject(place, `throws on ${JSON.stringify(value)} (${message}), which is a 500; ${fix}`)
  }
}

function sentBy(def: z.core.$ZodPipeDef): z.core.$ZodType {
  return def.in._zod.def.type === 'transform' ? def.out : def.in
}

/** Describes alternatives that a reader can tell apart: otherwise it could round an int64, or send another alternative. */
function describeUnion(schema: z.core.$ZodType, def: z.core.$ZodUnionDef, place: Place): JsonSchema {
  const { options } = def
  for (const option of options) requirePresent(option, place, 'make the whole union optional')
  const anyOf = options.map((option) => describe(option, place))
  const types = anyOf.map((member) => typesOf(member, place.components))
  const count = (type: string): number => types.filter((own) => own.includes(type)).length
  // Texts, booleans and nulls are sent and read in the same way, and numbers unless one is an int64.
  const isMixed = count('int64') > 0 && count('number') > 0
  const hasObjects = count('object') > 1
  if (isMixed || count('array') > 1 || (hasObjects && !('discriminator' in def))) {
    const fix = 'or be the objects of a z.discriminatedUnion(); use one, with a field such as `kind`'
    reject(place, `the alternatives of a union must differ in their JSON type, ${fix}`)
  }
  // zod finds duplicate kinds when it parses.
  if (hasObjects) parse(schema, {}, place)
  return { anyOf }
}

function typesOf(schema: JsonSchema, components: Components): (string | undefined)[] {
  const { anyOf, const: value, enum: values = [value], type, format } = resolve(schema, components)
  if (anyOf) return anyOf.flatMap((member) => typesOf(member, components))
  if (format === 'int64') return [format]
  return [type === 'integer' || values.some((each) => typeof each === 'number') ? 'number' : type]
}

/** Reads metadata that describes the whole value, for values whose zod schema only says how they are parsed. */
function readOverride(override: unknown, place: Place): JsonSchema {
  const json = toJson(override, place) as JsonSchema
  const { type = '', format = '', minimum, maximum } = json
  const isSafe = Number(minimum) >= Number.MIN_SAFE_INTEGER && Number(maximum) <= Number.MAX_SAFE_INTEGER
  const isExact = type !== 'integer' || isSafe || ['int32', 'int64'].includes(format)
  if (isExact && ['string', 'number', 'boolean', 'integer'].includes(type)) return json
  const reason = '`override` must describe a string, a number, a boolean, or an integer with the format int32 or int64'
  return reject(place, `${reason}, or with safe bounds; change it`)
}

/** Turns what JavaScript has into what JSON has. */
function toJson(value: unknown, place: Place): unknown {
  const text = JSON.stringify(value, (_, part) => {
    if (typeof part !== 'bigint') return part
    if (!Number.isSafeInteger(Number(part))) reject(place, `JSON Schema would round ${part}; describe it in words`)
    return Number(part)
  })
  return JSON.parse(text ?? reject(place, 'the metadata or a default is not JSON; use another value'))
}

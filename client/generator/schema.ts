/** A JSON Schema, as zod-openapi writes it. */
export type JsonSchema = Readonly<Record<string, unknown>>

/** A value that a literal can be. */
export type Literal = string | number | boolean | null

/** A part of a request or response, in the forms that the SDK has. */
export type Schema =
  | { readonly kind: 'text' | 'int64' | 'integer' | 'number' | 'boolean' }
  | { readonly kind: 'literal'; readonly values: readonly Literal[] }
  | { readonly kind: 'list'; readonly items: Schema }
  | { readonly kind: 'object'; readonly fields: readonly Field[] }
  | { readonly kind: 'record'; readonly values: Schema }
  | { readonly kind: 'union'; readonly members: readonly Schema[] }
  | { readonly kind: 'component'; readonly name: string }

/** A field of an object, or a parameter. */
export interface Field {
  readonly name: string
  readonly required: boolean
  /** The text of its doc comment. */
  readonly documentation: string
  readonly schema: Schema
}

/** What says nothing about the form of a value, or is for the service alone to check. */
const IGNORED_KEYWORDS = new Set([
  ...[
    'title',
    'description',
    'examples',
    'default',
    'deprecated',
    'readOnly',
    'writeOnly',
    '$comment',
    'discriminator',
  ],
  ...['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'],
  ...['minLength', 'maxLength', 'pattern', 'contentEncoding', 'contentMediaType'],
  ...['minItems', 'maxItems', 'uniqueItems', 'minProperties', 'maxProperties'],
])
const READ_KEYWORDS = new Set([
  ...['$ref', 'anyOf', 'oneOf', 'type', 'format', 'enum', 'const'],
  ...['items', 'properties', 'required', 'additionalProperties', 'propertyNames'],
])
const ADVICE: Readonly<Record<string, string>> = {
  prefixItems: 'a tuple is not supported; use an object',
  allOf: 'an intersection is not supported; use one object with all fields',
  not: 'z.never() is not supported; omit the field',
}
const TYPE_OF = new Map([
  ['string', 'text'],
  ['number', 'number'],
  ['boolean', 'boolean'],
] as const)

/**
 * Reads a JSON Schema with all its parts. What the SDK has no form for is rejected, because otherwise it would be lost.
 *
 * @param place where the schema is, for error messages
 */
export function readSchema(json: unknown, place: string): Schema {
  if (typeof json !== 'object' || json === null) return reject(place, 'is not a schema; describe the value')
  const schema = json as JsonSchema
  for (const keyword of Object.keys(schema)) {
    if (IGNORED_KEYWORDS.has(keyword) || READ_KEYWORDS.has(keyword) || keyword.startsWith('x-')) continue
    if (keyword === 'allOf' && isIgnored(schema['allOf'])) continue
    reject(place, ADVICE[keyword] ?? `"${keyword}" is not supported; describe the value without it`)
  }
  const { $ref, anyOf, oneOf, type, enum: values = 'const' in schema ? [schema['const']] : undefined } = schema
  if (typeof $ref === 'string') return { kind: 'component', name: $ref.slice($ref.lastIndexOf('/') + 1) }
  const members = anyOf ?? oneOf
  if (Array.isArray(members)) {
    const other = ['enum', 'const', 'items', 'properties', 'additionalProperties'].find((keyword) => keyword in schema)
    if (other) reject(place, `"${other}" next to a union is not supported; move it into the alternatives`)
    return union(members.map((member) => readSchema(member, place)))
  }
  if (Array.isArray(values)) return readLiterals(values, place)
  if (Array.isArray(type)) return union(type.map((one) => readSchema({ ...schema, type: one }, place)))
  return readType(schema, place)
}

/** Text with several patterns has them in `allOf`. */
function isIgnored(parts: unknown): boolean {
  return (
    Array.isArray(parts) && parts.every((part) => Object.keys(part).every((keyword) => IGNORED_KEYWORDS.has(keyword)))
  )
}

/**
 * Reads a field, with its documentation.
 *
 * @param place where the field is, for error messages
 */
export function readField(name: string, json: unknown, required: boolean, place: string): Field {
  // An object without such a field inherits one; `*` stands for every field of a record in the route table.
  if (name in Object.prototype || name === '*') reject(place, 'this name is not supported; rename it')
  return { name, required, documentation: documentationOf(json as JsonSchema), schema: readSchema(json, place) }
}

/** Writes the doc comment of a value: description, format, default, example and deprecation. */
export function documentationOf(schema: JsonSchema): string {
  const { title, description = title ?? '', format, default: preset, examples, deprecated } = schema
  const tags = [
    preset !== undefined && `@default ${writeExample(preset)}`,
    Array.isArray(examples) && `@example ${writeExample(examples[0])}`,
    deprecated && '@deprecated',
  ]
  const text =
    typeof format === 'string' && schema['type'] === 'string' ? `${description} Format: ${format}.` : description
  return [String(text).trim(), ...tags].filter(Boolean).join('\n\n')
}

function readType(schema: JsonSchema, place: string): Schema {
  const { type, format, items } = schema
  if (type === 'null') return { kind: 'literal', values: [null] }
  if (type === 'array') return { kind: 'list', items: readSchema(items, `${place}[]`) }
  if (type === 'object') return readObject(schema, place)
  if (type === 'integer') return readInteger(schema, place)
  const kind = TYPE_OF.get(type as 'string')
  if (!kind) return reject(place, 'may be any value, whose integers could be rounded; describe it')
  if (format === 'binary') return reject(place, 'JSON has no binary data; use z.base64()')
  return { kind }
}

function readLiterals(values: readonly Literal[], place: string): Schema {
  if (values.some((value) => Number.isInteger(value) && !Number.isSafeInteger(value))) {
    return reject(place, 'a literal outside the safe integer range is not supported; use an int64')
  }
  return { kind: 'literal', values }
}

function writeExample(value: unknown): string {
  return JSON.stringify(value, (_, part) => (typeof part === 'bigint' ? Number(part) : part))
}

function readInteger(schema: JsonSchema, place: string): Schema {
  const { format, minimum, maximum, exclusiveMinimum, exclusiveMaximum } = schema
  if (format === 'int64') return { kind: 'int64' }
  const [least, most] = [minimum ?? exclusiveMinimum, maximum ?? exclusiveMaximum]
  const isExact = Number(least) >= Number.MIN_SAFE_INTEGER && Number(most) <= Number.MAX_SAFE_INTEGER
  if (format === 'int32' || format === 'uint32' || (format === undefined && isExact)) return { kind: 'integer' }
  return reject(place, 'an integer outside int64 and the safe range could be rounded; use z.int() or z.int64()')
}

function readObject(schema: JsonSchema, place: string): Schema {
  const { properties, required = [], additionalProperties, propertyNames } = schema
  if (properties === undefined && typeof additionalProperties === 'object') {
    const names = readSchema(propertyNames ?? { type: 'string' }, `${place}: its names`)
    if (names.kind === 'literal')
      return readFields(Object.fromEntries(names.values.map((name) => [name, additionalProperties])))
    if (names.kind === 'component' || names.kind === 'union') {
      return reject(place, 'the names of a record are text, or a z.enum() without an id; use one of them')
    }
    return { kind: 'record', values: readSchema(additionalProperties, `${place}{}`) }
  }
  if (additionalProperties) {
    return reject(
      place,
      'an object with other fields than the named ones is not supported; add a field that is a z.record()',
    )
  }
  return readFields(properties ?? {})

  function readFields(fields: object): Schema {
    return {
      kind: 'object',
      fields: Object.entries(fields).map(([name, field]) =>
        readField(name, field, (required as string[]).includes(name), `${place}.${name}`),
      ),
    }
  }
}

/** Creates a union without unions in it, and with all literals in one. */
function union(members: readonly Schema[]): Schema {
  const flat = members.flatMap((member) => (member.kind === 'union' ? member.members : [member]))
  const values = flat.flatMap((member) => (member.kind === 'literal' ? member.values : []))
  const others = flat.filter(({ kind }) => kind !== 'literal')
  const all: Schema[] = values.length > 0 ? [...others, { kind: 'literal', values: [...new Set(values)] }] : others
  return all.length === 1 && all[0] ? all[0] : { kind: 'union', members: all }
}

/** Rejects a contract. */
export function reject(place: string, reason: string): never {
  throw new Error(`${place}: ${reason}`)
}

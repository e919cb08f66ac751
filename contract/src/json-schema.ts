/**
 * Describes zod schemas in the part of JSON Schema that the document and the SDK express exactly. zod walks the schema; what it
 * writes, and what it writes nothing of, is then rejected here if it is not supported.
 */
import * as z from 'zod'

/** Where a value is: in the body of a request or a response, or in a parameter, which arrives as text. */
export type Direction = 'request' | 'parameter' | 'response'

/** A type of a value. */
export type JsonType = keyof typeof KEYWORDS

/** A JSON Schema as this module writes it. Other keywords are annotations, or are for the service to check. */
export interface JsonSchema {
  readonly $ref?: string
  readonly type?: JsonType
  readonly format?: string
  readonly pattern?: string
  readonly enum?: readonly string[]
  readonly items?: JsonSchema
  readonly properties?: Readonly<Record<string, JsonSchema>>
  readonly required?: readonly string[]
  readonly additionalProperties?: false
  readonly description?: string
  readonly deprecated?: boolean
  readonly examples?: readonly unknown[]
  readonly [keyword: string]: unknown
}

/** The schemas that have an id, by it. */
export type Components = Record<string, JsonSchema>

/** A schema that zod has visited, and where. */
interface Visited {
  readonly schema: z.core.$ZodTypes
  readonly path: readonly (string | number)[]
}

/** The keywords of each type that are expressed, or that the service checks. */
const KEYWORDS = {
  string: ['format', 'pattern', 'minLength', 'maxLength', 'enum', 'contentEncoding'],
  integer: ['format', 'minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'],
  number: ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'],
  boolean: [],
  array: ['items', 'minItems', 'maxItems'],
  object: ['properties', 'required', 'additionalProperties'],
} satisfies Readonly<Record<string, readonly string[]>>
const SUPPORTED =
  'use text, numbers, booleans, enums of text, lists, and objects of named fields, required or .optional()'
const ANNOTATIONS = /^(?:\$ref|type|title|description|examples|deprecated|x-.*)$/

const INT64 = { type: 'integer', format: 'int64' } as const

/** What not every engine of regular expressions reads, such as Rust's and RE2. */
const UNPORTABLE = /\\(?:u|p|k|[1-9])|\(\?[^:]/iu

/** Rejects a part of the contract. */
export function reject(place: string, reason: string): never {
  throw new Error(`${place}: ${reason}`)
}

/**
 * Describes a schema, and adds the schemas with an id to the components.
 *
 * @param place the operation and the path to the value, for error messages
 * @throws Error with the place and the fix, if it could not be sent or described exactly
 */
export function describe(value: unknown, direction: Direction, place: string, components: Components): JsonSchema {
  if (!(value instanceof z.ZodType)) reject(place, 'is not a JSON schema of zod 4; use z, or c.noBody()')
  const schema = value as z.ZodType
  const input = convert(schema, 'input', direction, place)
  const output = direction === 'request' ? input : convert(schema, 'output', direction, place)
  if (direction === 'response' && JSON.stringify(input.json) !== JSON.stringify(output.json)) {
    reject(place, 'is sent as the handler returns it, before zod changes it; use the schema of what is sent')
  }
  const { $defs = {}, ...json } = output.json
  for (const [id, component] of Object.entries($defs)) {
    checkResult(component, direction, id)
    const text = JSON.stringify(component)
    if (text !== JSON.stringify(components[id] ?? component)) {
      reject(place, `another schema has the id ${id}; use one schema, or rename one`)
    }
    components[id] = component
  }
  checkResult(json, direction, place)
  for (const each of [...input.visited, ...output.visited]) checkVisited(each, direction, place)
  if (direction === 'parameter') checkTexts(schema as z.ZodObject, output.json, place)
  return json
}

/** Rejects a parameter that does not read text, or not the text that the SDK sends. */
function checkTexts({ shape }: z.ZodObject, { properties = {} }: JsonSchema, root: string): void {
  for (const [name, { type }] of Object.entries(properties)) {
    const place = `${root}.${name}`
    const field = shape[name] as z.ZodType
    const [issue] = parse(field, 'a', place).error?.issues ?? []
    if (issue?.code === 'invalid_type' && !issue.path.some(Boolean)) {
      const list = 'and z.preprocess((value) => [value].flat(), z.array(...)) for a list, since one item is no list'
      reject(place, `rejects text, which every parameter is; use TextSchema, Int64TextSchema or z.codec(), ${list}`)
    }
    requireSafeText(field, place)
    for (const text of type === 'boolean' ? ['true', 'false'] : ['0', '1', '20']) {
      const { success, data } = parse(field, text, place)
      if (success && String(data) !== text)
        reject(place, `reads ${text} as ${data}; use a codec that String() reverses`)
    }
  }
}

/** Parses a text as a server does, which responds with a 500 if the schema throws. */
function parse(schema: z.core.$ZodType, text: string, place: string): z.ZodSafeParseResult<unknown> {
  try {
    return z.safeParse(schema, text)
  } catch (error) {
    return reject(place, `throws on ${JSON.stringify(text)} (${(error as Error).message}); check the text before`)
  }
}

/** Lets zod convert a schema. */
function convert(schema: z.ZodType, io: 'input' | 'output', direction: Direction, place: string) {
  const all: Visited[] = []
  try {
    const written = z.toJSONSchema(schema, {
      io,
      cycles: 'throw',
      unrepresentable: ({ zodSchema: { _zod } }) => (_zod.def.type === 'bigint' ? INT64 : 'any'),
      override({ zodSchema, jsonSchema, path }) {
        all.push({ schema: zodSchema, path })
        complete(zodSchema, jsonSchema, direction)
      },
    })
    // zod visits the schema that `.meta()` and `.refine()` were called on too.
    const parents = new Set<unknown>(all.map((each) => each.schema._zod.parent))
    return { json: toComponents(written), visited: all.filter((each) => !parents.has(each.schema)) }
  } catch (error) {
    const [reason] = (error as Error).message.split('\n')
    return reject(place, `${reason}; change the schema`)
  }
}

/** Writes what zod leaves out, and takes out what clients must not rely on. */
function complete(schema: z.core.$ZodTypes, json: z.core.JSONSchema.BaseSchema, direction: Direction): void {
  const { def } = schema._zod
  const { examples } = z.globalRegistry.get(schema) ?? {}
  // zod takes them for examples of what it parses the value to.
  if (examples) json.examples = examples as unknown[]
  if ('format' in def && def.format === 'int32') json.format = 'int32'
  if (json.minimum === -(2 ** 31)) delete json.minimum
  if (json.maximum === 2 ** 31 - 1) delete json.maximum
  // The format says it, in engines whose patterns cannot.
  if (json.format && json.type === 'string') delete json.pattern
  // A later version may add fields to a response.
  if (direction !== 'request' && json.additionalProperties === false) delete json.additionalProperties
}

/** Rejects what zod does not write, or writes as something else. */
function checkVisited({ schema, path }: Visited, direction: Direction, root: string): void {
  const { def } = schema._zod
  const place = [root, ...path.filter((name) => name !== 'properties')].join('.')
  if (refinementsOf(schema) > 0 && !isDocumented(schema)) {
    reject(place, 'a .refine() is not described; add a .meta() with a description or a pattern after it')
  }
  if ([def, ...(def.checks ?? []).map((check) => check._zod.def)].some(hasFlags)) {
    reject(place, 'JSON Schema has no regular expression flags; write the pattern without them')
  }
  if ('coerce' in def && def.coerce) reject(place, 'z.coerce reads other values too, such as "0x10"; use z.codec()')
  if (direction === 'request' && def.type === 'bigint') {
    reject(place, 'rejects integers below 2^53, which are numbers in JSON; use Int64Schema')
  }
  if (direction === 'request' && def.type === 'string') requireSafeText(schema, place)
}

/** Rejects a text that a database rejects. */
function requireSafeText(schema: z.core.$ZodType, place: string): void {
  if (!['\0', '\ud800'].some((text) => parse(schema, text, place).success)) return
  reject(place, 'accepts U+0000 or lone surrogates, which not every database does; use TextSchema, or a format')
}

/** Whether metadata was added after the last `.refine()`: before it, it describes something else. */
function isDocumented(schema: z.core.$ZodType): boolean {
  let before: z.core.$ZodType | undefined = schema
  while (before && refinementsOf(before) === refinementsOf(schema)) before = before._zod.parent
  const [own, old] = [schema, before].map((each) => (each && z.globalRegistry.get(each)) ?? {})
  return own?.description !== old?.description || own?.['pattern'] !== old?.['pattern']
}

function refinementsOf({ _zod: { def } }: z.core.$ZodType): number {
  return def.checks?.filter((check) => check._zod.def.check === 'custom').length ?? 0
}

function hasFlags(def: object): boolean {
  return 'pattern' in def && def.pattern instanceof RegExp && /[imsy]/.test(def.pattern.flags)
}

/** Makes references to the definitions of a schema refer to the components of the document. */
function toComponents(written: object): JsonSchema & { readonly $defs?: Components } {
  const text = JSON.stringify(written).replaceAll('"$ref":"#/$defs/', '"$ref":"#/components/schemas/')
  const { $schema: _, ...json } = JSON.parse(text)
  return json
}

/** Rejects what is not expressed. */
function checkResult(json: JsonSchema, direction: Direction, place: string): void {
  const { $ref, type, format, pattern, items, properties = {} } = json
  const known: readonly string[] | undefined = KEYWORDS[type as JsonType]
  for (const [keyword, value] of Object.entries(json)) {
    const isClosed = keyword !== 'additionalProperties' || value === false
    if (ANNOTATIONS.test(keyword) || (known?.includes(keyword) && isClosed)) continue
    reject(place, `"${keyword}" is not supported; ${SUPPORTED}`)
  }
  if ($ref === undefined && known === undefined) reject(place, `a value of any type is not supported; ${SUPPORTED}`)
  if (pattern !== undefined && UNPORTABLE.test(pattern)) {
    reject(place, `not every engine reads the pattern ${pattern}; use classes and groups only, or say it in words`)
  }
  if (direction === 'response' && format === 'int64') {
    reject(place, 'the SDK would round an int64 in a response; add an exact reader to the SDK first')
  }
  if (items) checkResult(items, direction, `${place}.[]`)
  for (const [name, field] of Object.entries(properties)) {
    if (name in Object.prototype) reject(`${place}.${name}`, 'an object inherits this name; rename the field')
    checkResult(field, direction, `${place}.${name}`)
  }
}

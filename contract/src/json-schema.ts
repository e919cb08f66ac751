/**
 * Describes zod schemas in the part of JSON Schema that the document and the SDK express exactly. zod walks the schema;
 * what is not on the list of what a contract can say is rejected.
 */
import * as z from 'zod'

/** A part of an operation: parameters, which arrive as text, or the body of a request, a response or a page. */
type Part = 'parameters' | 'request' | 'response' | 'page'

/** A JSON Schema as zod writes it. */
type Json = z.core.JSONSchema.JSONSchema

/** A JSON Schema as the document has it. Other keywords are annotations, or are for the service to check. */
export interface JsonSchema {
  readonly $ref?: string
  /** `[type, 'null']` where `null` is a value too. */
  readonly type?: string | readonly string[]
  readonly format?: string
  readonly items?: JsonSchema
  readonly properties?: Readonly<Record<string, JsonSchema>>
  readonly required?: readonly string[]
  readonly description?: string
  readonly examples?: readonly unknown[]
  readonly [keyword: string]: unknown
}

/** The schemas that have an id, by it. */
export type Components = Record<string, JsonSchema>

/** All that a contract can say, by zod's names of the kinds of schemas and of checks. */
const SUPPORTED_NAMES: readonly string[] = [
  ...['array', 'bigint', 'boolean', 'custom', 'nullable', 'number', 'object', 'optional', 'pipe', 'string'],
  ...['greater_than', 'less_than', 'number_format', 'length_equals', 'max_length', 'min_length', 'string_format'],
]
/** The same for people, with what {@link isSupported} requires of each. */
const SUPPORTED =
  'is not supported here; use an object, or in a response a list of objects, whose fields have names such as maxHeight and are ' +
  'TextSchema or a format, Int64Schema, numbers or booleans, .optional(), .nullable(), with .min(), .max(), and one .regex() ' +
  'without flags or a .refine() if a .meta() has its pattern or description. Parameters are text: use TextSchema, ' +
  'Int64TextSchema, z.stringbool(), a format or a z.codec()'

/** Rejects a part of the contract. */
export function rejectContract(place: string, reason: string): never {
  throw new Error(`${place}: ${reason}`)
}

/**
 * Describes a schema, and adds those with an id to the components.
 *
 * @param place the operation and the path to the value, for error messages
 * @throws {Error} with the place and the fix, if it could not be sent or described exactly
 */
export function describe(components: Components, value: unknown, part: Part, place: string): JsonSchema {
  if (!(value instanceof z.ZodType)) return rejectContract(place, 'is not a JSON schema of zod 4; use z, or c.noBody()')
  const visited = new Map<z.core.$ZodTypes, [json: Json, path: readonly string[]]>()
  try {
    const written = z.toJSONSchema(value, {
      // A parameter is what its text is read to. A body is what is sent: the server parses no response.
      io: part === 'parameters' ? 'output' : 'input',
      unrepresentable: ({ zodSchema: { _zod } }) =>
        _zod.def.type === 'bigint' ? { type: 'integer', format: 'int64' } : 'any',
      override: ({ zodSchema, jsonSchema, path }) => {
        // zod leaves out those of a schema that transforms, as that of an int64 does.
        const { examples } = (z.globalRegistry.get(zodSchema) ?? {}) as { readonly examples?: readonly unknown[] }
        visited.set(zodSchema, [Object.assign(jsonSchema, examples && { examples }), path.map(String)])
      },
    })
    // zod visits the schemas that `.meta()` and `.refine()` were called on too. What is sent is only their result.
    for (const { _zod } of [...visited.keys()]) visited.delete(_zod.parent as z.core.$ZodTypes)
    for (const [schema, [json, path]] of visited) {
      const where = [place, ...path.filter((name) => name !== 'properties')].join('.')
      if (!isSupported(schema, json, part, path)) rejectContract(where, `this z.${schema._zod.def.type}() ${SUPPORTED}`)
    }
    // References to the definitions of a schema become references to the components of the document.
    const text = JSON.stringify(written).replaceAll('"$ref":"#/$defs/', '"$ref":"#/components/schemas/')
    const { $defs = {}, $schema: _, ...json } = JSON.parse(text, mergeNull)
    for (const [id, component] of Object.entries<JsonSchema>($defs)) {
      if (component.type !== 'object') rejectContract(place, `only an object has an id; remove ${id}`)
      const isSame = JSON.stringify(component) === JSON.stringify(components[id] ?? component)
      if (!isSame) rejectContract(place, `another schema has the id ${id}; use one schema, or rename one`)
      components[id] = component
    }
    const { type = '' } = components[json.$ref?.split('/').at(-1)] ?? json
    // An object or a list may grow.
    const types = { parameters: ['object'], request: ['object'], response: ['object', 'array'], page: ['array'] }[part]
    if (!types.includes(String(type))) rejectContract(place, `must be an ${types.join(' or an ')}; change its schema`)
    return json
  } catch (error) {
    const { message } = error as Error
    if (message.startsWith(place)) throw error
    // zod does not know the place.
    return rejectContract(place, `${message}; change the schema, or write an example that is a bigint as a number`)
  }
}

/** Whether everything that a schema says is expressed, apart from what it consists of. */
function isSupported(schema: z.core.$ZodTypes, json: Json, part: Part, path: readonly string[]): boolean {
  const { def } = schema._zod
  const checks = (def.checks ?? []).map(({ _zod }) => _zod.def)
  const names = [def.type, ...checks.map(({ check }) => check)]
  const regexes = [def, ...checks].flatMap((each) => ('pattern' in each ? [each.pattern as RegExp] : []))
  const [inner = json] = json.anyOf ?? []
  const isField = path.includes('properties')
  const isScalar = ['boolean', 'integer', 'number', 'string'].includes(String(inner.type))
  // The fake of the SDK checks patterns.
  const isFormatOnly = json.type === 'string' && json.format !== undefined && json.pattern === undefined
  const accepts = (text: string) => z.safeParse(schema, text).success
  // Every parameter arrives as text.
  const parameters = part === 'parameters' && def.type === 'object' ? Object.values(def.shape) : []
  const issues = parameters.map((field) => z.safeParse(field, 'a').error?.issues[0])
  return (
    names.every((name) => SUPPORTED_NAMES.includes(name)) &&
    (isField ? isScalar && /^[a-z]\w*$/i.test(String(path.at(-1))) : path.length === 0 || def.type === 'object') &&
    !json.deprecated &&
    (json.exclusiveMinimum ?? json.exclusiveMaximum) === undefined &&
    regexes.every((each) => each?.source === json.pattern && !/[imsy]/.test(each.flags)) &&
    !('coerce' in def && def.coerce) &&
    !(checks.some(({ check }) => check === 'custom') && (json.description ?? json.pattern) === undefined) &&
    !(part === 'parameters' && def.type === 'nullable') &&
    !(def.type === 'bigint' && part === 'request') &&
    !(['parameters', 'request'].includes(part) && (['\0', '\ud800'].some(accepts) || isFormatOnly)) &&
    issues.every((issue) => issue?.code !== 'invalid_type')
  )
}

/** Writes a value that may be `null` as one of two types. */
function mergeNull(_name: string, json: Json): Json {
  const { anyOf: [inner] = [], ...own } = Object(json) as Json
  return inner?.type ? ({ ...inner, ...own, type: [inner.type, 'null'].flat() } as Json) : json
}

/**
 * Describes zod schemas in the part of JSON Schema that the document and the SDK express exactly. zod walks the schema;
 * what it writes, and what it writes nothing of, is then rejected here if it is not supported.
 */
import * as z from 'zod'

/** Where a value is: in the body of a request or a response, or in a parameter, which arrives as text. */
export type Direction = 'request' | 'parameter' | 'response'

/** A JSON Schema as this module writes it. Other keywords are annotations, or are for the service to check. */
export interface JsonSchema {
  readonly $ref?: string
  readonly type?: keyof typeof KEYWORDS
  readonly format?: string
  readonly enum?: readonly string[]
  readonly items?: JsonSchema
  readonly properties?: Readonly<Record<string, JsonSchema>>
  readonly required?: readonly string[]
  readonly description?: string
  readonly deprecated?: boolean
  readonly examples?: readonly unknown[]
  readonly [keyword: string]: unknown
}

/** The schemas that have an id, by it. */
export type Components = Record<string, JsonSchema>

/** The keywords of each type that are expressed, or that the service checks. */
const KEYWORDS = {
  string: ['format', 'pattern', 'minLength', 'maxLength', 'enum'],
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

/** Rejects a part of the contract. */
export function reject(place: string, reason: string): never {
  throw new Error(`${place}: ${reason}`)
}

/**
 * Describes a schema, and adds the schemas with an id to the components.
 *
 * @param place the operation and the path to the value, for error messages
 * @throws {Error} with the place and the fix, if it could not be sent or described exactly
 */
export function describe(value: unknown, direction: Direction, place: string, components: Components): JsonSchema {
  if (!(value instanceof z.ZodType)) return reject(place, 'is not a JSON schema of zod 4; use z, or c.noBody()')
  const visited = new Map<z.core.$ZodTypes, string>()
  const written = attempt(place, () =>
    z.toJSONSchema(value, {
      // A parameter is what its text is read to. A body is what is sent: the server parses no response.
      io: direction === 'parameter' ? 'output' : 'input',
      cycles: 'throw',
      unrepresentable: ({ zodSchema: { _zod } }) => (_zod.def.type === 'bigint' ? INT64 : 'any'),
      override: ({ zodSchema, path }) => {
        visited.set(zodSchema, [place, ...path.filter((name) => name !== 'properties')].join('.'))
      },
    }),
  )
  // References to the definitions of a schema become references to the components of the document.
  const text = JSON.stringify(written).replaceAll('"$ref":"#/$defs/', '"$ref":"#/components/schemas/')
  const { $schema: _, $defs = {}, ...json }: JsonSchema & { readonly $defs?: Components } = JSON.parse(text)
  for (const [id, component] of Object.entries($defs)) {
    checkResult(component, id)
    if (JSON.stringify(component) !== JSON.stringify(components[id] ?? component)) {
      reject(place, `another schema has the id ${id}; use one schema, or rename one`)
    }
    components[id] = component
  }
  checkResult(json, place)
  // zod visits the schemas that `.meta()` and `.refine()` were called on too. What is sent is only their result.
  const parents = new Set([...visited.keys()].map(({ _zod }): unknown => _zod.parent))
  for (const [schema, where] of visited) if (!parents.has(schema)) checkSchema(schema, direction, where)
  if (direction === 'parameter') checkTexts(value as z.ZodObject, place)
  return json
}

/** Runs zod, whose errors have no place. */
function attempt<T>(place: string, run: () => T): T {
  try {
    return run()
  } catch (error) {
    return reject(place, `${(error as Error).message.split('\n')[0]}; change the schema`)
  }
}

/** Rejects what is not expressed. */
function checkResult(json: JsonSchema, place: string): void {
  const { $ref, type, items, properties = {} } = json
  const known: readonly string[] | undefined = type && KEYWORDS[type]
  for (const [keyword, value] of Object.entries(json)) {
    const isOpen = keyword === 'additionalProperties' && value !== false
    if (ANNOTATIONS.test(keyword) || (known?.includes(keyword) && !isOpen)) continue
    reject(place, `"${keyword}" is not supported; ${SUPPORTED}`)
  }
  if ($ref === undefined && known === undefined) reject(place, `a value of any type is not supported; ${SUPPORTED}`)
  if (items) checkResult(items, `${place}.[]`)
  for (const [name, field] of Object.entries(properties)) {
    if (name in Object.prototype) reject(`${place}.${name}`, 'an object inherits this name; rename the field')
    checkResult(field, `${place}.${name}`)
  }
}

/** Rejects what zod does not write, or writes as something else. */
function checkSchema(schema: z.core.$ZodTypes, direction: Direction, place: string): void {
  const { def } = schema._zod
  if (refinementsOf(schema) > 0 && !isDocumented(schema)) {
    reject(place, 'a .refine() is not described; add a .meta() with a description or a pattern after it')
  }
  for (const { pattern } of [def, ...(def.checks ?? []).map(({ _zod }) => _zod.def)] as { pattern?: unknown }[]) {
    if (!(pattern instanceof RegExp && /[imsy]/.test(pattern.flags))) continue
    reject(place, 'JSON Schema has no regular expression flags; write the pattern without them')
  }
  if ('coerce' in def && def.coerce) reject(place, 'z.coerce reads other values too, such as "0x10"; use z.codec()')
  if (direction === 'request' && def.type === 'bigint') {
    reject(place, 'rejects integers below 2^53, which are numbers in JSON; use Int64Schema')
  }
  if (direction === 'request' && def.type === 'string') requireSafeText(schema, place)
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

/** Rejects a text that a database rejects. */
function requireSafeText(schema: z.core.$ZodType, place: string): void {
  if (!['\0', '\ud800'].some((text) => attempt(place, () => z.safeParse(schema, text)).success)) return
  reject(place, 'accepts U+0000 or lone surrogates, which not every database does; use TextSchema, or a format')
}

/** Rejects a parameter that does not read text, or not the text that the SDK sends. */
function checkTexts({ shape }: z.ZodObject, root: string): void {
  for (const [name, field] of Object.entries(shape)) {
    const place = `${root}.${name}`
    const read = (text: string) => attempt(place, () => z.safeParse(field, text))
    const [issue] = read('a').error?.issues ?? []
    if (issue?.code === 'invalid_type' && !issue.path.some(Boolean)) {
      const list = 'and z.preprocess((value) => [value].flat(), z.array(...)) for a list, since one item is no list'
      reject(place, `rejects text, which every parameter is; use TextSchema, Int64TextSchema or z.codec(), ${list}`)
    }
    requireSafeText(field, place)
    const { data = true } = read('20')
    if (data !== true && String(data) !== '20') reject(place, `reads 20 as ${data}; use a codec that String() reverses`)
  }
}

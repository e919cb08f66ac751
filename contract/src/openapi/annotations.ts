import * as z from 'zod'
import type { CreateDocumentOptions } from 'zod-openapi'

type Context = Parameters<NonNullable<CreateDocumentOptions['override']>>[0]

/** The types of JSON Schema that each primitive of JavaScript fits. */
const TYPES: Readonly<Record<string, readonly unknown[]>> = {
  string: ['string'],
  boolean: ['boolean'],
  number: ['integer', 'number'],
  bigint: ['integer', 'number'],
}

/** Writes the examples and the default of a schema as they are sent. */
export function annotate({ jsonSchema, zodSchema, io }: Context): void {
  const { def } = zodSchema._zod
  // zod leaves both out of a request that it transforms, because it takes them for results.
  const { examples } = z.globalRegistry.get(zodSchema) ?? {}
  if (io === 'input' && Array.isArray(examples)) jsonSchema.examples ??= examples
  // zod leaves out what has a bigint, or fails.
  if (def.type === 'catch' && 'default' in jsonSchema) jsonSchema.default = toJson(jsonSchema.default) as never
  if (def.type === 'prefault' && io === 'input') jsonSchema.default = toJson(def.defaultValue) as never
  if (def.type === 'default') {
    const value = sentDefault(def, jsonSchema.type)
    if (value === undefined) delete jsonSchema.default
    else jsonSchema.default = value as never
  }
}

/** Returns what a client sends for a default, if the schema accepts text or another form of it. */
function sentDefault({ innerType, defaultValue }: z.core.$ZodDefaultDef, type: unknown): unknown {
  const own = toJson(defaultValue)
  const isPrimitive = typeof defaultValue !== 'object'
  if (isPrimitive && fits(own, type)) return own
  const encoded = toJson(encode(innerType, defaultValue))
  return [encoded, own].find((value) => value !== undefined && fits(value, type))
}

function encode(schema: z.core.$ZodType, value: unknown): unknown {
  try {
    return z.encode(schema, value)
  } catch {
    // A transform has no way back.
    return undefined
  }
}

function fits(value: unknown, type: unknown): boolean {
  const types = TYPES[typeof value]
  return !types || typeof type !== 'string' || types.includes(type)
}

/** Turns what JavaScript has into what JSON has. */
function toJson(value: unknown): unknown {
  const text = JSON.stringify(value, (_, part) => (typeof part === 'bigint' ? Number(part) : part))
  return text === undefined ? undefined : JSON.parse(text)
}

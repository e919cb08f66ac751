/** The part of a JSON Schema that describes an integer. */
interface IntegerSchema {
  type: 'integer'
  format: 'int32' | 'int64'
  minimum?: number
  maximum?: number
  examples?: number[]
}

/**
 * Creates zod metadata that replaces a value's schema in the OpenAPI document, for values whose zod form is only how
 * they are parsed: a union, a codec over text, bounds that JSON cannot write exactly.
 */
export function describedAs(schema: IntegerSchema) {
  return {
    override: ({ jsonSchema }: { jsonSchema: object }) => {
      for (const key of ['anyOf', 'pattern', 'minimum', 'maximum']) Reflect.deleteProperty(jsonSchema, key)
      Object.assign(jsonSchema, schema)
    },
  }
}

/** Creates zod metadata that adds a pattern to the schema of requests only, since clients need not check responses. */
export function checkedInRequests(pattern: string) {
  return {
    override: ({ jsonSchema, io }: { jsonSchema: object; io: 'input' | 'output' }) => {
      if (io === 'input') Object.assign(jsonSchema, { pattern })
    },
  }
}

/** The part of a JSON Schema that tells of an integer. */
interface IntegerSchema {
  type: 'integer'
  format: 'int32' | 'int64'
  minimum?: number
  maximum?: number
  examples?: number[]
}

/**
 * Metadata that makes the OpenAPI document say `schema` of a value whose zod form (a union, a codec over text, bounds
 * that JSON cannot write exactly) is only how it is read.
 */
export function describedAs(schema: IntegerSchema) {
  return {
    override: ({ jsonSchema }: { jsonSchema: object }) => {
      for (const key of ['anyOf', 'pattern', 'minimum', 'maximum']) Reflect.deleteProperty(jsonSchema, key)
      Object.assign(jsonSchema, schema)
    },
  }
}

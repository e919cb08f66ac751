import * as z from 'zod'
import type { CreateDocumentOptions } from 'zod-openapi'
import { annotate } from './annotations.ts'

/** A bound of an integer, under its name in JSON Schema. */
interface Bound {
  readonly keyword: string
  readonly value: unknown
}

/** The formats of OpenAPI for those of zod. */
const NUMBER_FORMATS: Readonly<Record<string, string>> = { int32: 'int32', float32: 'float', float64: 'double' }

/** Completes what zod and zod-openapi write into the JSON Schema of a zod schema. */
export const describeExactly: NonNullable<CreateDocumentOptions['override']> = (context) => {
  annotate(context)
  const { jsonSchema, zodSchema, io } = context
  // zod closes the objects of responses; a later version may add fields, so clients must not reject unknown ones.
  if (io === 'output' && jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties
  // `z.readonly()` is about the parsed value; in OpenAPI, a request must not have a `readOnly` field.
  if (zodSchema instanceof z.ZodReadonly && !z.globalRegistry.get(zodSchema)?.['readOnly']) delete jsonSchema.readOnly
  // zod-openapi writes int64.
  if (zodSchema instanceof z.ZodBigIntFormat) jsonSchema.format = zodSchema._zod.def.format
  const numberFormat = zodSchema instanceof z.ZodNumberFormat && NUMBER_FORMATS[zodSchema._zod.def.format]
  if (numberFormat) jsonSchema.format ??= numberFormat
  // zod leaves out every bigint.
  for (const { keyword, value } of boundsOf(zodSchema._zod.def)) {
    if (typeof value === 'bigint') Object.assign(jsonSchema, { [keyword]: Number(value) })
  }
}

/** Lists the bounds of a number. */
export function boundsOf({ checks = [] }: z.core.$ZodTypeDef): Bound[] {
  return checks.flatMap((check) => {
    const { check: name, value, inclusive } = check._zod.def as { check: string; value?: unknown; inclusive?: boolean }
    if (name === 'greater_than') return { keyword: inclusive ? 'minimum' : 'exclusiveMinimum', value }
    if (name === 'less_than') return { keyword: inclusive ? 'maximum' : 'exclusiveMaximum', value }
    return name === 'multiple_of' ? { keyword: 'multipleOf', value } : []
  })
}

import * as z from 'zod'

const NOT_INT64 = `must be an integer between ${-(2n ** 63n)} and ${2n ** 63n - 1n} (int64)`

const INT64_TEXT = /^(0|-?[1-9]\d{0,18})$/

/** Creates the error of a value of another type, or of none. */
function must(message: string) {
  return (issue: { readonly input?: unknown }) => (issue.input === undefined ? 'is required' : message)
}

/**
 * Parses a 64-bit signed integer, exact over the whole range, from a safe integer `number` or a `bigint` to a `bigint`.
 * Nothing is coerced: `"1"`, `true` and `[5]` are invalid.
 */
export const Int64Schema = z
  .custom<number | bigint>(isInt64, { error: must(NOT_INT64) })
  .meta({ type: 'integer', format: 'int64', examples: [1] })
  .transform((value) => BigInt(value))

function isInt64(value: unknown): boolean {
  return Number.isSafeInteger(value) || (typeof value === 'bigint' && BigInt.asIntN(64, value) === value)
}

/**
 * Parses a 64-bit signed integer in a path or query, which are text, to a `bigint`. Each has one form only, so that
 * `016`, `+16`, `0x10` and `-0` never name another resource.
 */
export const Int64TextSchema = z
  .codec(z.string(NOT_INT64).regex(INT64_TEXT, NOT_INT64), z.int64(NOT_INT64), { decode: BigInt, encode: String })
  .meta({ description: 'An int64, in decimal digits without leading zeros.' })

/**
 * Accepts any Unicode text, of any length. It rejects only what not every database stores exactly: U+0000 (PostgreSQL
 * rejects it, SQLite's functions stop at it) and lone surrogates, which have no UTF-8 form (RFC 8259 section 8.2).
 */
export const TextSchema = z
  .string({ error: must('must be a string') })
  // A regular expression that repeats a class overflows the stack on text of many megabytes.
  .refine((text) => text.isWellFormed() && !text.includes('\0'), 'must not contain U+0000 or a lone surrogate')
  // Only what every engine reads: Rust's and RE2 have no surrogates.
  .meta({ pattern: '^[^\\x00]*$' })

const shownFields = {
  name: TextSchema.meta({
    description:
      'The name of the plant. Any Unicode text, including empty text, within the body size limit; ' +
      'U+0000 and lone surrogates are rejected.',
    examples: ['Monstera deliciosa'],
  }),
  tag: TextSchema.optional().meta({
    description:
      'Tag that specifies the type of the plant: text as of `name`. A plant without a tag has no `tag` key; `null` is invalid.',
    examples: ['aroid'],
  }),
}

/** The fields of a plant, for the schemas of operations: `z.object(plantFields).meta({ id: 'PlantWithId' })`. */
export const plantFields = {
  id: Int64Schema.meta({
    description:
      'Identification number of the plant, unique within the account. An int64, exact over its whole range: ' +
      'write it as a JSON number, with a serializer that does not round integers above 2^53.',
  }),
  ...shownFields,
}

/** A plant as the service returns it, on creation and in lists, without its `id`. */
export const PlantSchema = z
  .object(shownFields, { error: 'must be an object' })
  .meta({ id: 'Plant', description: 'The plant record returned by the service. It does not include `id`.' })

/** The body sent to create a plant: every field of a Plant, plus its `id`. */
export const NewPlantSchema = z.object(plantFields, { error: 'must be an object' }).meta({
  id: 'NewPlant',
  description:
    'The body sent to create a plant. Repeating an `id` with the same content gets a 200 with the same plant and ' +
    'adds nothing.',
})

/** A plant as the service returns it. */
export type Plant = z.output<typeof PlantSchema>

/** A plant to create, before validation: `id` is a safe integer or a bigint. */
export type NewPlant = z.input<typeof NewPlantSchema>

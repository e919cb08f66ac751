import { initContract } from '@ts-rest/core'
import * as z from 'zod'
import { commonErrors } from './errors.ts'

export { errorMessages, limits } from './errors.ts'

/** The errors that only the operations that name them respond with. A new one has the next code of its status. */
const ownErrors = {
  idTaken: { code: 40003, reason: 'id: is taken by another plant of this account. Choose another id.' },
} as const

/** Lists every error that the service responds with. */
export const errorCatalogue = { ...commonErrors, ...ownErrors }

/** The name of an entry of the error catalogue. */
export type ErrorName = keyof typeof errorCatalogue

/** Returns the HTTP status of an error. */
export function statusOf(name: ErrorName): number {
  return Math.floor(errorCatalogue[name].code / 100)
}

/** The body of every error response, for any status and path. */
export const ErrorSchema = z
  .object({
    error: z.int32().meta({
      format: 'int32',
      description: 'Numeric error value: HTTP status x 100 + n.',
      examples: [40002],
      'x-codes': Object.fromEntries(Object.entries(errorCatalogue).map(([name, { code }]) => [name, code])),
    }),
    message: z.string().meta({
      description: 'Error text: what is wrong and how to fix it. It may change, so branch on `error` instead.',
      examples: ['name: is required'],
    }),
  })
  .meta({ id: 'Error', description: 'The body of every error response, for any status and path.' })

/** The body of an error response. */
export type ErrorBody = z.output<typeof ErrorSchema>

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

/** The scopes of a token: `read` is for operations that change nothing, `write` for the others. */
export const ScopeSchema = z.enum(['read', 'write'], { error: "must be 'read' or 'write'" })

/** A scope of a token. */
export type Scope = z.output<typeof ScopeSchema>

/** What ts-rest has no field for. */
export interface OperationMetadata {
  /** The scope that the token must have. */
  readonly scope: Scope
  /** The group of the operation in the OpenAPI document. */
  readonly group?: { readonly name: string; readonly description: string }
  /** The operation takes `limit` and `cursor`, and a page has a `Link` to the next one, if there is one, and to its end. */
  readonly paged?: boolean
  /**
   * Whether a request whose response was lost can be sent again: that changes nothing more and gets the response that
   * was lost, unless another client has changed the same in between. If `false`, a client gets the connection error,
   * the timeout or the 5xx, and has to find out whether the request was processed. Default: `true`; POST and PATCH have
   * to say it.
   */
  readonly idempotent?: boolean
  /**
   * The errors that only this operation, and others that name them, respond with, such as `idTaken`. The responses need
   * their statuses. Errors that every operation has, and those of a body or a query, are not named. Any other that
   * its handler throws is a 500.
   */
  readonly errors?: readonly ErrorName[]
}

/** Gives the metadata of an operation its type. */
export function defineMetadata(metadata: OperationMetadata): OperationMetadata {
  return metadata
}

const plantsGroup = { name: 'plants', description: 'The plants of the account that the token belongs to.' }

const MAX_PAGE_SIZE = 1000
const INVALID_LIMIT = { error: `must be an integer between 1 and ${MAX_PAGE_SIZE}` }

const LimitSchema = z
  .codec(
    z.string(INVALID_LIMIT).regex(/^[1-9]\d{0,8}$/, INVALID_LIMIT),
    z.int32().min(1, INVALID_LIMIT).max(MAX_PAGE_SIZE, INVALID_LIMIT),
    { decode: Number, encode: String },
  )
  .optional()
  .meta({
    description: `The number of plants per page, 1 to ${MAX_PAGE_SIZE}. Default: the whole list.`,
    format: 'int32',
    examples: [100],
  })

const CursorSchema = TextSchema.optional().meta({
  description:
    'Where the page starts: an opaque value from the `Link` header of the page before it (`nextCursor` or `endCursor` ' +
    'in the SDK). It stays valid, and is the same text for the same place.',
})

const c = initContract()

/** Defines every operation. The routes, the SDK, the OpenAPI document and the docs are derived from it. */
export const contract = c.router(
  {
    createPlant: {
      method: 'POST',
      path: '/plants',
      summary: 'Create Plant',
      description:
        'Creates a new plant in the store. Repeating an `id` with the same content gets a 200 with the same plant and ' +
        'adds nothing. Different content gets a 400 (40003).',
      body: NewPlantSchema,
      responses: { 200: PlantSchema },
      metadata: defineMetadata({ scope: 'write', group: plantsGroup, idempotent: true, errors: ['idTaken'] }),
    },
    getPlants: {
      method: 'GET',
      path: '/plants',
      summary: 'Get Plants',
      description:
        'Returns all plants from the system that the user has access to, in order of creation, as one JSON array. ' +
        'With `limit` it returns one page, with a `Link` header (RFC 8288): `rel="next"` leads to the next page, if ' +
        'there is one, and `rel="end"` to what follows this page, now or later: poll it for new plants. ' +
        'Plants that are created while you page never shift a page. With the `ETag` of an earlier response in ' +
        '`If-None-Match` it returns a 304 if that list or page is still the same.',
      query: z.object({ limit: LimitSchema, cursor: CursorSchema }),
      responses: { 200: z.array(PlantSchema), 304: c.noBody() },
      metadata: defineMetadata({ scope: 'read', group: plantsGroup, paged: true }),
    },
  },
  {
    strictStatusCodes: true,
    commonResponses: {
      400: ErrorSchema,
      401: ErrorSchema,
      403: ErrorSchema,
      408: ErrorSchema,
      417: ErrorSchema,
      429: ErrorSchema,
      431: ErrorSchema,
      500: ErrorSchema,
      503: ErrorSchema,
    },
  },
)

/** The type of the contract. */
export type Contract = typeof contract

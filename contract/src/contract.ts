import { initContract } from '@ts-rest/core'
import * as z from 'zod'
import { type ErrorName, ErrorSchema } from './errors.ts'
import { NewPlantSchema, PlantSchema, TextSchema } from './plants.ts'

export * from './errors.ts'
export * from './plants.ts'

const c = initContract()

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
  /** The operation takes `limit` and `cursor`, and its responses have a `Link` to the next page. */
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
    'Where the page starts: an opaque value from the `Link` header of the previous page (`nextCursor` in the SDK).',
})

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
        'With `limit` it returns one page and, if there are more, a `Link` header with `rel="next"` (RFC 8288). ' +
        'Plants that are created while you page never shift a page. With the `ETag` of an earlier response in ' +
        '`If-None-Match`, it returns a 304 if that list or page is still the same.',
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

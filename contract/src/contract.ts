import { initContract } from '@ts-rest/core'
import * as z from 'zod'
import { ErrorSchema } from './errors.ts'
import { describedAs } from './json-schema.ts'
import { NewPlantSchema, PlantSchema } from './plants.ts'

const c = initContract()

/** What a token may do: `read` lists, `write` creates. */
export const ScopeSchema = z.enum(['read', 'write'])

/** What a token may do. */
export type Scope = z.output<typeof ScopeSchema>

/** What the contract says of an operation beside its shape. */
export interface OperationMetadata {
  /** The scope that a token needs for it. */
  readonly scope: Scope
  /** It takes `limit` and `cursor` and answers with a `Link` to the next page. */
  readonly paged?: true
}

/** The largest page that `limit` may ask for. */
export const MAXIMUM_PAGE_SIZE = 1000

const LimitSchema = z
  .codec(
    z.string({ error: 'must be given once' }).regex(/^\d{1,9}$/, { error: `must be a whole number` }),
    z
      .int()
      .min(1)
      .max(MAXIMUM_PAGE_SIZE, { error: `must be between 1 and ${MAXIMUM_PAGE_SIZE}` }),
    { decode: Number, encode: String },
  )
  .optional()
  .meta({
    description: 'The number of plants on a page, 1 to 1000. Left out, the whole list is the answer.',
    examples: [100],
    ...describedAs({ type: 'integer', format: 'int32', minimum: 1, maximum: MAXIMUM_PAGE_SIZE }),
  })

const CursorSchema = z.string({ error: 'must be given once' }).optional().meta({
  description: 'Where the page begins: taken from the `Link` header of the page before, and otherwise opaque.',
})

/** The contract of the plant store. Its operations, and only these, make the routes, the SDK, OpenAPI and the docs. */
export const contract = c.router(
  {
    createPlant: {
      method: 'POST',
      path: '/plants',
      summary: 'Create Plant',
      description:
        'Creates a new plant in the store. The same `id` with the same content again answers 200 with the same ' +
        'plant and adds nothing, so a retry is always safe; with other content it is a 400 (40003).',
      body: NewPlantSchema,
      responses: {
        200: PlantSchema,
        413: ErrorSchema,
        415: ErrorSchema,
      },
      metadata: { scope: 'write' } satisfies OperationMetadata as OperationMetadata,
    },
    getPlants: {
      method: 'GET',
      path: '/plants',
      summary: 'Get Plants',
      description:
        'Returns all plants from the system that the user has access to, in order of creation, as one JSON array. ' +
        'With `limit` it returns a page and, where more follow, a `Link` header with `rel="next"` (RFC 8288). ' +
        'New plants never shift a page.',
      query: z.object({ limit: LimitSchema, cursor: CursorSchema }),
      responses: {
        200: z.array(PlantSchema),
      },
      metadata: { scope: 'read', paged: true } satisfies OperationMetadata as OperationMetadata,
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
      505: ErrorSchema,
    },
  },
)

/** The contract's type: what a server implements and a client is made from. */
export type Contract = typeof contract

import { ErrorSchema, Int64TextSchema, type OperationMetadata, TextSchema } from '@plant-store/contract'
import { initContract } from '@ts-rest/core'
import * as z from 'zod'
import {
  BookChangesSchema,
  BookSchema,
  CountSchema,
  FlagSchema,
  FoundBooksSchema,
  GenreSchema,
  LoanSchema,
  listOf,
  NewBookSchema,
  NewLoanSchema,
  PriceTextSchema,
  StatisticsSchema,
} from './schemas.ts'

const c = initContract()

const bookPath = z.object({ id: Int64TextSchema.meta({ description: 'Identification number.' }) })
const read: OperationMetadata = { scope: 'read' }
const write: OperationMetadata = { scope: 'write' }

/** A contract that uses everything that the generator supports. */
export const library = c.router(
  {
    getBook: {
      method: 'GET',
      path: '/books/:id',
      description: 'Returns a book.',
      pathParams: bookPath,
      headers: {
        // Node.js sends `*` if the client sends nothing, so this cannot be an enum.
        'accept-language': z.string().optional().meta({ description: 'The language of the title.' }),
        'x-currency': z.enum(['eur', 'usd']).optional(),
      },
      responses: { 200: BookSchema, 404: ErrorSchema },
      metadata: read,
    },
    searchBooks: {
      method: 'GET',
      path: '/books',
      description: 'Finds books.',
      query: z.object({
        words: TextSchema.meta({ description: 'Words of the title.' }),
        genres: listOf(GenreSchema).optional(),
        authors: listOf(TextSchema).optional(),
        ids: listOf(Int64TextSchema).optional(),
        available: FlagSchema.optional(),
        minPages: CountSchema.optional(),
        maxPrice: PriceTextSchema.optional().meta({ description: 'Use `minPages`.', deprecated: true }),
        order: z.enum(['title', 'price']),
      }),
      responses: { 200: FoundBooksSchema },
      metadata: read,
    },
    putBook: {
      method: 'PUT',
      path: '/books/:id',
      description: 'Creates or replaces a book.',
      pathParams: bookPath,
      body: NewBookSchema,
      responses: { 200: BookSchema, 201: z.object({ created: BookSchema, location: z.string() }) },
      metadata: write,
    },
    updateBook: {
      method: 'PATCH',
      path: '/books/:id',
      description: 'Changes some fields of a book.',
      pathParams: bookPath,
      headers: { 'if-match': z.string().optional().meta({ description: 'The `revision` that you have read.' }) },
      body: BookChangesSchema,
      responses: { 200: BookSchema, 404: ErrorSchema, 412: ErrorSchema },
      metadata: write,
    },
    deleteBook: {
      method: 'DELETE',
      path: '/books/:id',
      description: 'Deletes a book.',
      pathParams: bookPath,
      headers: { 'if-match': z.string().meta({ description: 'The `revision` that you have read.' }) },
      responses: { 204: c.noBody(), 404: ErrorSchema, 412: ErrorSchema },
      metadata: write,
    },
    borrowBook: {
      method: 'POST',
      path: '/loans',
      description: 'Lends a book to a member. Every request lends it once more.',
      body: NewLoanSchema,
      headers: { 'x-desk': CountSchema.optional() },
      responses: { 201: LoanSchema, 404: ErrorSchema },
      metadata: { ...write, idempotent: false },
    },
    listLoans: {
      method: 'GET',
      path: '/loans',
      description: 'Returns the loans, in order of creation.',
      query: z.object({
        limit: CountSchema.optional(),
        cursor: TextSchema.optional(),
        member: TextSchema.optional(),
      }),
      responses: { 200: z.array(LoanSchema) },
      metadata: { ...read, paged: true },
    },
    getStatistics: {
      method: 'GET',
      path: '/statistics',
      description: 'Counts the books.',
      responses: { 200: StatisticsSchema },
      metadata: read,
    },
  },
  {
    strictStatusCodes: true,
    pathPrefix: '/library',
    commonResponses: {
      400: ErrorSchema,
      401: ErrorSchema,
      403: ErrorSchema,
      408: ErrorSchema,
      429: ErrorSchema,
      500: ErrorSchema,
      503: ErrorSchema,
    },
  },
)

/** A contract beyond that of the plants: its server, which is ts-rest on Express as its users write it, and its SDK. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import {
  type ErrorName,
  ErrorSchema,
  errorCatalogue,
  Int64Schema,
  Int64TextSchema,
  type OperationMetadata,
  statusOf,
  TextSchema,
} from '@plant-store/contract'
import { initContract } from '@ts-rest/core'
import { createExpressEndpoints, initServer } from '@ts-rest/express'
import express, { type NextFunction, type Request, type Response } from 'express'
import { parse, stringify } from 'lossless-json'
import * as z from 'zod'
import { generate } from '../../generator/generate.ts'
import { createProject } from '../helpers/generated-sdk.ts'

const c = initContract()
const read: OperationMetadata = { scope: 'read' }
const write: OperationMetadata = { scope: 'write' }

const Count = z
  .codec(z.string().regex(/^\d{1,9}$/), z.int().min(1), { decode: Number, encode: String })
  .meta({ override: { type: 'integer', format: 'int32' } })
const Price = z
  .codec(z.string().regex(/^\d+(\.\d+)?(e\+\d+)?$/), z.number(), { decode: Number, encode: String })
  .meta({ override: { type: 'number' }, description: 'Use `minPages`.', deprecated: true })
const Flag = z.stringbool({ truthy: ['true'], falsy: ['false'] }).meta({ override: { type: 'boolean' } })
const Genre = z.enum(['novel', 'poetry', "children's"]).meta({ id: 'Genre', description: 'The genre of a book.' })
const Place = z
  .discriminatedUnion('kind', [
    z.object({ kind: z.literal('shelf'), board: Int64Schema.nullable() }),
    z.object({ kind: z.literal('lent'), to: z.union([Int64Schema, z.string()]) }),
  ])
  .meta({ id: 'Place' })
const NewBook = z
  .object({
    title: z.string().meta({ description: 'The title.', examples: ['Kindred'] }),
    genre: Genre,
    authors: z.array(z.object({ name: z.string(), born: z.iso.date().nullable() })),
    price: z.number(),
    subtitle: z.string().nullable().optional(),
    successor: Int64Schema.nullable().optional(),
    place: Place.optional(),
    copies: z.record(z.string(), Int64Schema.nullable()).optional(),
  })
  .meta({ id: 'NewBook', description: 'A book to create or replace.' })
const Book = NewBook.extend({ id: z.int64(), revision: z.string() }).meta({ id: 'Book', description: 'A book.' })
const Loan = z.object({ id: z.int64(), book: z.int64(), member: z.string() }).meta({ id: 'Loan' })
const listOf = <TItem extends z.ZodType>(item: TItem) =>
  z.preprocess((value) => [value].flat(), z.array(item)).optional()

/** Every place where an int64 can be in a response. */
const Statistics = z
  .object({
    books: z.int64(),
    byGenre: z.record(z.string(), z.int64()),
    byYear: z.record(z.string(), z.object({ bought: z.int64(), lost: z.int64().nullable() })),
    newest: z.int64().nullable(),
    largestLoan: z.union([z.int64(), z.string()]),
    recent: z.array(z.int64()),
    grid: z.array(z.array(z.int64().nullable())),
    last: z.union([z.object({ loan: z.int64() }), z.null()]).optional(),
    mean: z.number(),
  })
  .meta({ id: 'Statistics', description: 'How many books there are.' })

export const library = c.router(
  {
    putBook: {
      method: 'PUT',
      path: '/books/:id',
      description: 'Creates or replaces a book.',
      pathParams: z.object({ id: Int64TextSchema }),
      // Node.js sends `*` if the client sends nothing, so `accept-language` cannot be an enum.
      headers: { 'accept-language': z.string().optional(), 'x-currency': z.enum(['eur', 'usd']).optional() },
      body: NewBook,
      responses: { 200: Book, 201: z.object({ created: Book, location: z.string() }) },
      metadata: write,
    },
    deleteBook: {
      method: 'DELETE',
      path: '/books/:id',
      description: 'Deletes a book.',
      pathParams: z.object({ id: Int64TextSchema }),
      headers: { 'if-match': z.string().meta({ description: 'The `revision` that you have read.' }) },
      responses: { 204: c.noBody(), 404: ErrorSchema, 412: ErrorSchema },
      metadata: write,
    },
    searchBooks: {
      method: 'GET',
      path: '/books',
      description: 'Returns the filters as the server read them, so that a test sees what arrived.',
      query: z.object({
        words: TextSchema,
        genres: listOf(Genre),
        authors: listOf(TextSchema),
        ids: listOf(Int64TextSchema),
        available: Flag.optional(),
        minPages: Count.optional(),
        maxPrice: Price.optional(),
        order: z.enum(['title', 'price']),
      }),
      responses: {
        200: z.object({
          words: z.string(),
          genres: z.array(Genre).optional(),
          authors: z.array(z.string()).optional(),
          ids: z.array(z.int64()).optional(),
          available: z.boolean().optional(),
          minPages: z.int32().optional(),
          maxPrice: z.number().optional(),
          order: z.enum(['title', 'price']),
        }),
      },
      metadata: read,
    },
    borrowBook: {
      method: 'POST',
      path: '/loans',
      description: 'Lends a book to a member. Every request lends it once more.',
      body: z
        .object({ book: Int64Schema, member: z.string(), days: z.int32().max(90).optional() })
        .meta({ id: 'NewLoan' }),
      headers: { 'x-desk': Count.optional() },
      responses: { 201: Loan, 404: ErrorSchema },
      metadata: { ...write, idempotent: false },
    },
    listLoans: {
      method: 'GET',
      path: '/loans',
      description: 'Returns the loans, in order of creation.',
      query: z.object({ limit: Count.optional(), cursor: TextSchema.optional(), member: TextSchema.optional() }),
      responses: { 200: z.array(Loan) },
      metadata: { ...read, paged: true },
    },
    getStatistics: { method: 'GET', path: '/statistics', responses: { 200: Statistics }, metadata: read },
  },
  {
    strictStatusCodes: true,
    pathPrefix: '/library',
    commonResponses: { 400: ErrorSchema, 401: ErrorSchema, 429: ErrorSchema, 503: ErrorSchema },
  },
)

/** The first id of a loan: near the end of int64, where a `number` would be rounded. */
export const FIRST_LOAN = 2n ** 63n - 1_000_000n
const TOKEN = 'pst_library-test-token'

function createRouter() {
  const books = new Map<bigint, z.output<typeof Book>>()
  const loans: z.output<typeof Loan>[] = []
  return initServer().router(library, {
    putBook: async ({ params: { id }, body }) => {
      const created = { ...body, id, revision: `"${books.size + 1}"` }
      const isNew = !books.has(id)
      books.set(id, created)
      return isNew
        ? { status: 201, body: { created, location: `/library/books/${id}` } }
        : { status: 200, body: created }
    },
    deleteBook: async ({ params: { id }, headers }) => {
      const book = books.get(id)
      if (!book) return notFound()
      // ts-rest validates headers, but its types do not have the type of their schema.
      const isSame = (headers as { 'if-match'?: string })['if-match'] === book.revision
      if (!isSame) return { status: 412, body: { error: 41200, message: 'if-match: the book has changed since' } }
      books.delete(id)
      return { status: 204, body: undefined }
    },
    searchBooks: async ({ query }) => ({ status: 200, body: query }),
    borrowBook: async ({ body: { book, member } }) => {
      if (!books.has(book)) return notFound()
      const loan = { id: FIRST_LOAN + BigInt(loans.length), book, member }
      loans.push(loan)
      return { status: 201, body: loan }
    },
    listLoans: async ({ query: { limit = loans.length, cursor = '0', member }, res }) => {
      const end = Number(cursor) + limit
      const listed = loans.filter((loan) => member === undefined || loan.member === member)
      const next = new URLSearchParams({ limit: `${limit}`, cursor: `${end}`, ...(member && { member }) })
      if (end < listed.length) res.setHeader('Link', `<?${next}>; rel="next"`)
      return { status: 200, body: listed.slice(Number(cursor), end) }
    },
    // Ids stand for the counters, so that these are large.
    getStatistics: async () => {
      const recent = [...books.keys()]
      const newest = recent.at(-1) ?? null
      const byGenre = Object.fromEntries([...books.values()].map(({ genre, id }) => [genre, id]))
      const byYear = { 2026: { bought: newest ?? 0n, lost: newest } }
      const [loan] = loans
      const last = { largestLoan: loan?.id ?? 'no loans', last: loan ? { loan: loan.id } : null, mean: 0.5 }
      const body = {
        books: BigInt(books.size),
        byGenre,
        byYear,
        newest,
        recent,
        grid: [recent, [null, newest]],
        ...last,
      }
      return { status: 200, body }
    },
  })
}

function errorBody(name: ErrorName, message: string = errorCatalogue[name].reason) {
  return { error: errorCatalogue[name].code, message }
}

function notFound() {
  return { status: 404 as const, body: errorBody('notFound', 'id: there is no such book') }
}

/** Starts a library on a free local port. */
export async function startLibraryServer() {
  const app = express()
  // Express writes with `JSON.stringify`, which throws on bigints.
  app.response.json = function json(body) {
    return this.type('application/json').send(stringify(body))
  }
  createExpressEndpoints(library, createRouter(), app, {
    logInitialization: false,
    // The server must send what the contract says.
    responseValidation: true,
    globalMiddleware: [checkToken, readBody],
    requestValidationErrorHandler: ({ pathParams, headers, query, body }, _request, response) => {
      const issues = [pathParams, headers, query, body].flatMap((each) => each?.issues ?? [])
      const message = issues.map((issue) => `${issue.path?.join('.')}: ${issue.message}`).join('; ')
      sendError(response, 'invalidBody', message)
    },
  })
  const server = createServer(app)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    token: TOKEN,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

function sendError(response: Response, name: ErrorName, message?: string): void {
  response.status(statusOf(name)).json(errorBody(name, message))
}

function checkToken(request: { headers: Request['headers'] }, response: Response, next: NextFunction): void {
  if (request.headers.authorization === `Bearer ${TOKEN}`) next()
  else sendError(response, 'tokenInvalid')
}

async function readBody(request: object, _response: Response, next: NextFunction): Promise<void> {
  const json = await text(request as Request)
  if (json !== '') (request as Request).body = parseJson(json)
  next()
}

/** Reads JSON as the plant store does: an integer that a `number` would round is a `bigint`. */
export function parseJson(json: string): unknown {
  return parse(json, null, (digits) => {
    const number = Number(digits)
    return Number.isSafeInteger(number) || !/^-?\d+$/.test(digits) ? number : BigInt(digits)
  })
}

type Call = (...parameters: unknown[]) => Promise<unknown>
/** The client of a generated SDK. The compiler checks the types of its operations: `consumer/types.ts`. */
type Client = Record<string, Call> & Record<'safe' | 'raw' | 'iterate', Record<string, Call>>

/** Generates the SDK of a contract. */
export async function createSdk(operations: Record<string, unknown>) {
  const generated = generate(operations)
  const folder = await createProject(generated)
  const { createPlantStoreClient } = await import(path.join(folder, 'src/index.ts'))
  return { folder, generated, createClient: createPlantStoreClient as (options: object) => Client }
}

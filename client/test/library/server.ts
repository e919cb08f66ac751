import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { type ErrorName, errorCatalogue, statusOf } from '@plant-store/contract'
import { createExpressEndpoints, initServer, type RequestValidationError } from '@ts-rest/express'
import express, { type Express, type NextFunction, type Request, type Response } from 'express'
import { parse, stringify } from 'lossless-json'
import { library } from './contract.ts'
import { type Book, createLibraryStore, type LibraryStore } from './store.ts'

/** A running library. */
export interface LibraryServer extends AsyncDisposable {
  readonly url: string
  readonly token: string
}

const TOKEN = 'pst_library-test-token'

/** Starts a library on a free local port. */
export async function startLibraryServer(): Promise<LibraryServer> {
  const server = createServer(createApp(createLibraryStore()))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    token: TOKEN,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

function createApp(store: LibraryStore): Express {
  const app = express()
  // Express writes with `JSON.stringify`, which throws on bigints.
  app.response.json = function json(body) {
    return this.type('application/json').send(stringify(body))
  }
  createExpressEndpoints(library, createRouter(store), app, {
    logInitialization: false,
    // The server must send what the contract says.
    responseValidation: true,
    globalMiddleware: [checkToken, readBody],
    requestValidationErrorHandler: rejectInvalid,
  })
  app.use((_request: Request, response: Response) => sendError(response, 'notFound'))
  app.use((error: unknown, _request: Request, response: Response, _next: NextFunction) => {
    console.error(error)
    sendError(response, 'internal')
  })
  return app
}

function createRouter(store: LibraryStore) {
  const { books, loans } = store
  return initServer().router(library, {
    getBook: async ({ params: { id } }) => {
      const book = books.get(id)
      return book ? { status: 200, body: book } : notFound()
    },

    searchBooks: async ({ query }) => {
      const found = [...books.values()].filter((book) => matches(book, query)).sort(by(query.order))
      return { status: 200, body: { books: found, total: BigInt(found.length), filters: query } }
    },

    createBooks: async ({ body }) => ({
      status: 200,
      body: body.map(({ id, ...book }) =>
        books.has(id)
          ? { status: 'rejected' as const, id, reason: 'id: is taken' }
          : { status: 'created' as const, book: store.put(id, book) },
      ),
    }),

    putBook: async ({ params: { id }, body }) => {
      const replaces = books.has(id)
      const book = store.put(id, body)
      return replaces
        ? { status: 200, body: book }
        : { status: 201, body: { created: book, location: `/library/books/${id}` } }
    },

    updateBook: async ({ params: { id }, body, headers }) => {
      const book = books.get(id)
      if (!book) return notFound()
      const revision = headers['if-match']
      if (revision !== undefined && revision !== book.revision) return changedSince()
      return { status: 200, body: store.change(book, body) }
    },

    deleteBook: async ({ params: { id }, headers }) => {
      const book = books.get(id)
      if (!book) return notFound()
      if (headers['if-match'] !== book.revision) return changedSince()
      store.remove(id)
      return { status: 204, body: undefined }
    },

    borrowBook: async ({ body }) => {
      if (!books.has(body.book)) return notFound()
      return { status: 201, body: store.borrow(body) }
    },

    listLoans: async ({ query: { limit = loans.length, cursor, member }, res }) => {
      const start = Number(cursor ?? 0)
      const listed = loans.filter((loan) => member === undefined || loan.member === member)
      if (start + limit < listed.length) {
        const next = new URLSearchParams({ limit: `${limit}`, cursor: `${start + limit}`, ...(member && { member }) })
        res.setHeader('Link', `<?${next}>; rel="next"`)
      }
      return { status: 200, body: listed.slice(start, start + limit) }
    },

    returnBooks: async ({ body }) => {
      for (const book of body) store.giveBack(book)
      const open = body.map((book) => {
        const count = loans.filter((loan) => loan.book === book && loan.returned === null).length
        return [String(book), BigInt(count)] as const
      })
      return { status: 200, body: Object.fromEntries(open) }
    },

    getStatistics: async () => ({ status: 200, body: countBooks(store) }),

    getNote: async ({ params: { shelf, name } }) => ({
      status: 200,
      body: { shelf, name, text: `${name} on ${shelf}` },
    }),

    startImport: async () =>
      books.size === 0
        ? { status: 204, body: undefined }
        : { status: 202, body: { id: 2n ** 63n - 1n, state: 'waiting' as const } },

    getBookCount: async () => ({ status: 200, body: BigInt(books.size) }),
  })
}

/** The filters of a search. */
interface Filters {
  words: string
  genres?: string[] | undefined
  authors?: string[] | undefined
  ids?: bigint[] | undefined
  available?: boolean | undefined
  minPages?: number | undefined
  maxPrice?: number | undefined
}

function matches({ title, genre, authors, id, available, pages = 0, price }: Book, filters: Filters): boolean {
  return (
    title.includes(filters.words) &&
    (filters.genres?.includes(genre) ?? true) &&
    (filters.authors?.some((name) => authors.some((author) => author.name === name)) ?? true) &&
    (filters.ids?.includes(id) ?? true) &&
    (filters.available === undefined || filters.available === available) &&
    pages >= (filters.minPages ?? 0) &&
    price <= (filters.maxPrice ?? Number.POSITIVE_INFINITY)
  )
}

function by(order: 'title' | 'price') {
  return (one: Book, other: Book): number => (one[order] < other[order] ? -1 : 1)
}

/** The books themselves are counted; ids stand for other counters, so that these are large. */
function countBooks({ books, loans }: LibraryStore) {
  const ids = [...books.keys()]
  const newest = ids.at(-1) ?? null
  const loan = loans.at(-1)
  return {
    books: BigInt(ids.length),
    byGenre: Object.fromEntries([...books.values()].map(({ genre, id }) => [genre, id])),
    byYear: { 2026: { bought: newest ?? 0n, lost: newest }, 2025: { bought: 0n, lost: null } },
    newest,
    largestLoan: loan?.id ?? 'no loans',
    recent: ids,
    grid: [ids, [null, newest]],
    last: loan ? { loan: loan.id } : null,
    mean: 0.5,
    unit: 'book' as const,
    version: 2 as const,
  }
}

const notFound = () => ({ status: 404 as const, body: errorBody('notFound', 'id: there is no such book') })
const changedSince = () => ({
  status: 412 as const,
  body: { error: 41200, message: 'if-match: the book has changed since; read it again' },
})

function errorBody(name: ErrorName, message: string = errorCatalogue[name].reason) {
  return { error: errorCatalogue[name].code, message }
}

function sendError(response: Response, name: ErrorName, message?: string): void {
  response.status(statusOf(name)).json(errorBody(name, message))
}

function checkToken(request: { headers: Request['headers'] }, response: Response, next: NextFunction): void {
  if (request.headers.authorization === `Bearer ${TOKEN}`) next()
  else sendError(response, 'tokenInvalid')
}

/** Reads JSON as the plant store does. */
async function readBody(request: object, response: Response, next: NextFunction): Promise<void> {
  const incoming = request as Request
  const json = await text(incoming)
  try {
    if (json !== '') incoming.body = parse(json, null, readNumber)
    next()
  } catch {
    sendError(response, 'malformedJson')
  }
}

/** Reads an integer that a `number` would round as a `bigint`. */
function readNumber(digits: string): number | bigint {
  const number = Number(digits)
  return Number.isSafeInteger(number) || !/^-?\d+$/.test(digits) ? number : BigInt(digits)
}

function rejectInvalid(error: RequestValidationError, _request: Request, response: Response): void {
  const { pathParams, headers, query, body } = error
  const name = pathParams ? 'notFound' : query || headers ? 'invalidQuery' : 'invalidBody'
  const issues = [pathParams, headers, query, body].flatMap((each) => each?.issues ?? [])
  sendError(response, name, issues.map(({ path = [], message }) => `${path.join('.')}: ${message}`).join('; '))
}

import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { type ErrorName, statusOf } from '@plant-store/contract'
import { createExpressEndpoints, initServer, type RequestValidationError } from '@ts-rest/express'
import express, { type Express, type NextFunction, type Request, type Response } from 'express'
import { parse, stringify } from 'lossless-json'
import { library } from './contract.ts'
import { createLibraryOperations, errorBody, type LibraryOperations } from './operations.ts'

/** A running library: the options of a client. */
interface LibraryServer extends AsyncDisposable {
  readonly baseUrl: string
  readonly token: string
}

const TOKEN = 'pst_library-test-token'

/** Starts a library on a free local port. */
export async function startLibraryServer(): Promise<LibraryServer> {
  const server = createServer(createApp(createLibraryOperations()))
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

function createApp(operations: LibraryOperations): Express {
  const app = express()
  // Express writes with `JSON.stringify`, which throws on bigints.
  app.response.json = function json(body) {
    return this.type('application/json').send(stringify(body))
  }
  createExpressEndpoints(library, createRouter(operations), app, {
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

function createRouter(operations: LibraryOperations) {
  return initServer().router(library, {
    getBook: async ({ params: { id } }) => operations.getBook(id),
    searchBooks: async ({ query }) => operations.searchBooks(query),
    putBook: async ({ params: { id }, body }) => operations.putBook(id, body),
    updateBook: async ({ params: { id }, body, headers }) => operations.updateBook(id, body, revisionOf(headers)),
    deleteBook: async ({ params: { id }, headers }) => operations.deleteBook(id, String(revisionOf(headers))),
    borrowBook: async ({ body }) => operations.borrowBook(body),
    listLoans: async ({ query, res }) => {
      const { next, ...page } = operations.listLoans(query)
      if (next) res.setHeader('Link', `<?${next}>; rel="next"`)
      return page
    },
    getStatistics: async () => operations.getStatistics(),
  })
}

/** ts-rest validates headers, but its types do not have the type of their schema. */
function revisionOf(headers: object): string | undefined {
  return (headers as { 'if-match'?: string })['if-match']
}

function sendError(response: Response, name: ErrorName, message?: string): void {
  response.status(statusOf(name)).json(errorBody(name, message))
}

function checkToken(request: { headers: Request['headers'] }, response: Response, next: NextFunction): void {
  if (request.headers.authorization === `Bearer ${TOKEN}`) next()
  else sendError(response, 'tokenInvalid')
}

async function readBody(request: object, response: Response, next: NextFunction): Promise<void> {
  const incoming = request as Request
  const json = await text(incoming)
  try {
    if (json !== '') incoming.body = parseJson(json)
    next()
  } catch {
    sendError(response, 'malformedJson')
  }
}

/** Reads JSON as the plant store does: an integer that a `number` would round is a `bigint`. */
export function parseJson(json: string): unknown {
  return parse(json, null, (digits) => {
    const number = Number(digits)
    return Number.isSafeInteger(number) || !/^-?\d+$/.test(digits) ? number : BigInt(digits)
  })
}

function rejectInvalid(error: RequestValidationError, _request: Request, response: Response): void {
  const { pathParams, headers, query, body } = error
  const name = pathParams ? 'notFound' : query || headers ? 'invalidQuery' : 'invalidBody'
  const issues = [pathParams, headers, query, body].flatMap((each) => each?.issues ?? [])
  sendError(response, name, issues.map(({ path = [], message }) => `${path.join('.')}: ${message}`).join('; '))
}

/** The handlers of the fake library, in the place of `src/testing/handlers.ts`. */
import type { OperationName } from '../../../src/generated/routes.ts'
import type { ReceivedValues } from '../../../src/testing/endpoint.ts'
import { emptyResponse, type FakeResponse, jsonResponse } from '../../../src/testing/response.ts'
import { createLibraryOperations, type LibraryOperations } from '../operations.ts'

type Handler = (values: ReceivedValues, operations: LibraryOperations) => FakeResponse

export { createLibraryOperations as createAccount }

/** Each passes on what the fake has read from the request, which the operation expects to be as the contract says. */
export const handlers: Record<OperationName, Handler> = {
  getBook: ({ path }, operations) => respond(operations.getBook(path['id'] as bigint)),
  searchBooks: ({ query }, operations) => respond(operations.searchBooks(query as never)),
  createBooks: ({ body }, operations) => respond(operations.createBooks(body as never)),
  putBook: ({ path, body }, operations) => respond(operations.putBook(path['id'] as bigint, body as never)),
  updateBook: ({ path, body, headers }, operations) =>
    respond(operations.updateBook(path['id'] as bigint, body as never, headers['if-match'] as string | undefined)),
  deleteBook: ({ path, headers }, operations) =>
    respond(operations.deleteBook(path['id'] as bigint, headers['if-match'] as string)),
  borrowBook: ({ body }, operations) => respond(operations.borrowBook(body as never)),
  listLoans({ query }, operations) {
    const { next, ...page } = operations.listLoans(query as never)
    return respond(page, next === undefined ? {} : { link: `<?${next}>; rel="next"` })
  },
  returnBooks: ({ body }, operations) => respond(operations.returnBooks(body as never)),
  getStatistics: (_, operations) => respond(operations.getStatistics()),
  getNote: ({ path }, operations) => respond(operations.getNote(path['shelf'] as string, path['name'] as string)),
  startImport: (_, operations) => respond(operations.startImport()),
  getBookCount: (_, operations) => respond(operations.getBookCount()),
}

function respond({ status, body }: { status: number; body: unknown }, headers: Record<string, string> = {}) {
  return body === undefined ? emptyResponse(status) : jsonResponse(status, body, headers)
}

/** The limits of the service that the fake of the SDK has too. */
export const limits = {
  /** The largest body, in bytes: Express's own default. */
  bodyBytes: 100 * 1024,
  /** How many invalid fields a message names. */
  issues: 3,
} as const

/**
 * The errors that any operation may respond with. `code` is the `error` of the body and never changes: HTTP status x
 * 100 + n, so that one status can have several reasons. `reason` says what is wrong and how to fix it.
 */
export const commonErrors = {
  badRequest: {
    code: 40000,
    reason:
      'The request is not well-formed HTTP, or it repeats a header that may appear only once. Fix your HTTP client.',
  },
  malformedJson: {
    code: 40001,
    reason: 'The body is not valid JSON in UTF-8, or has a duplicate key. Fix the body as the message says.',
  },
  invalidBody: {
    code: 40002,
    reason: 'The body is valid JSON but does not match the schema. Fix the fields that the message names.',
  },
  invalidQuery: { code: 40004, reason: 'A query parameter is invalid. Fix the parameters that the message names.' },
  tokenMissing: {
    code: 40101,
    reason: 'The request has no bearer token. Send the header `Authorization: Bearer <ACCESS_TOKEN>`.',
  },
  tokenInvalid: { code: 40102, reason: 'The token is malformed or unknown. Check that you copied the whole token.' },
  tokenEnded: { code: 40103, reason: 'The token has expired or was revoked. Get a new one.' },
  scopeMissing: {
    code: 40301,
    reason: 'The token does not have the scope that this operation requires. Use a token that has it.',
  },
  notFound: { code: 40400, reason: 'The path does not exist. Check the path and the base URL.' },
  methodNotAllowed: {
    code: 40500,
    reason: 'The path does not support this method. The `Allow` header lists the methods it supports.',
  },
  requestTimeout: { code: 40800, reason: 'The request took too long to arrive. Retry it.' },
  bodyTooLarge: { code: 41300, reason: `The body is larger than ${limits.bodyBytes} bytes. Send a smaller one.` },
  unsupportedMediaType: {
    code: 41500,
    reason:
      'The body must be uncompressed JSON in UTF-8. Send `Content-Type: application/json` and no `Content-Encoding`.',
  },
  expectationFailed: { code: 41700, reason: 'The `Expect` header is not `100-continue`. Remove the header.' },
  tooManyRequests: { code: 42900, reason: 'Too many requests. Retry after the number of seconds in `Retry-After`.' },
  headersTooLarge: { code: 43100, reason: 'The request line and headers exceed the size limit. Send shorter ones.' },
  internal: {
    code: 50000,
    reason: 'The server failed. Retry the request; if it keeps failing, report the `X-Request-Id`.',
  },
  unavailable: {
    code: 50300,
    reason: 'The server is overloaded or unavailable. Retry after the number of seconds in `Retry-After`.',
  },
} as const

/** The messages of the service that the fake of the SDK has too; what is in braces is replaced. */
export const errorMessages = {
  invalidCursor: 'cursor: must be taken from the Link header of an earlier page',
  scopeMissing: 'The token lacks the scope "{scope}" that this operation needs.',
} as const

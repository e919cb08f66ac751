// Generated from the contract by `npm run generate`. Do not edit.

/** The codes of the error catalogue, by name: compare the `code` of an `ApiError` with them. */
export const errorCodes = {
  /** The request is not well-formed HTTP, or it repeats a header that may appear only once. Fix your HTTP client. */
  badRequest: 40000,
  /** The body is not valid JSON in UTF-8, or has a duplicate key. Fix the body as the message says. */
  malformedJson: 40001,
  /** The body is valid JSON but does not match the schema. Fix the fields that the message names. */
  invalidBody: 40002,
  /** A query parameter is invalid. Fix the parameters that the message names. */
  invalidQuery: 40004,
  /** The request has no bearer token. Send the header `Authorization: Bearer <ACCESS_TOKEN>`. */
  tokenMissing: 40101,
  /** The token is malformed or unknown. Check that you copied the whole token. */
  tokenInvalid: 40102,
  /** The token has expired or was revoked. Get a new one. */
  tokenEnded: 40103,
  /** The token does not have the scope that this operation requires. Use a token that has it. */
  scopeMissing: 40301,
  /** The path does not exist. Check the path and the base URL. */
  notFound: 40400,
  /** The path does not support this method. The `Allow` header lists the methods it supports. */
  methodNotAllowed: 40500,
  /** The request took too long to arrive. Retry it. */
  requestTimeout: 40800,
  /** The body is larger than 102400 bytes. Send a smaller one. */
  bodyTooLarge: 41300,
  /** The body must be uncompressed JSON in UTF-8. Send `Content-Type: application/json` and no `Content-Encoding`. */
  unsupportedMediaType: 41500,
  /** The `Expect` header is not `100-continue`. Remove the header. */
  expectationFailed: 41700,
  /** Too many requests. Retry after the number of seconds in `Retry-After`. */
  tooManyRequests: 42900,
  /** The request line and headers exceed the size limit. Send shorter ones. */
  headersTooLarge: 43100,
  /** The server failed. Retry the request; if it keeps failing, report the `X-Request-Id`. */
  internal: 50000,
  /** The server is overloaded or unavailable. Retry after the number of seconds in `Retry-After`. */
  unavailable: 50300,
  /** id: is taken by another plant of this account. Choose another id. */
  idTaken: 40003,
} as const

/** The name of an error code. */
export type ErrorName = keyof typeof errorCodes

/** An error code. */
export type ErrorCode = (typeof errorCodes)[ErrorName]

/** What each error code means. */
export const errorReasons: Record<ErrorName, string> = {
  "badRequest": "The request is not well-formed HTTP, or it repeats a header that may appear only once. Fix your HTTP client.",
  "malformedJson": "The body is not valid JSON in UTF-8, or has a duplicate key. Fix the body as the message says.",
  "invalidBody": "The body is valid JSON but does not match the schema. Fix the fields that the message names.",
  "invalidQuery": "A query parameter is invalid. Fix the parameters that the message names.",
  "tokenMissing": "The request has no bearer token. Send the header `Authorization: Bearer <ACCESS_TOKEN>`.",
  "tokenInvalid": "The token is malformed or unknown. Check that you copied the whole token.",
  "tokenEnded": "The token has expired or was revoked. Get a new one.",
  "scopeMissing": "The token does not have the scope that this operation requires. Use a token that has it.",
  "notFound": "The path does not exist. Check the path and the base URL.",
  "methodNotAllowed": "The path does not support this method. The `Allow` header lists the methods it supports.",
  "requestTimeout": "The request took too long to arrive. Retry it.",
  "bodyTooLarge": "The body is larger than 102400 bytes. Send a smaller one.",
  "unsupportedMediaType": "The body must be uncompressed JSON in UTF-8. Send `Content-Type: application/json` and no `Content-Encoding`.",
  "expectationFailed": "The `Expect` header is not `100-continue`. Remove the header.",
  "tooManyRequests": "Too many requests. Retry after the number of seconds in `Retry-After`.",
  "headersTooLarge": "The request line and headers exceed the size limit. Send shorter ones.",
  "internal": "The server failed. Retry the request; if it keeps failing, report the `X-Request-Id`.",
  "unavailable": "The server is overloaded or unavailable. Retry after the number of seconds in `Retry-After`.",
  "idTaken": "id: is taken by another plant of this account. Choose another id."
}

/** The messages of the service. */
export const errorMessages = {
  "invalidCursor": "cursor: must be taken from the Link header of an earlier page",
  "scopeMissing": "The token lacks the scope \"{scope}\" that this operation needs."
}

/** The limits of the service. */
export const limits = {"bodyBytes":102400,"issues":3}

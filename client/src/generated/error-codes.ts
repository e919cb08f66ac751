// Generated from the contract by `pnpm generate`. Do not edit.

/** The numbers of the error catalogue, by name: compare `code` of an `ApiError` with them. */
export const errorCodes = {
  /** The request is not well-formed HTTP, or a header that may come once came twice. Mend the HTTP client. */
  badRequest: 40000,
  /** The body is not one JSON text in UTF-8, or has a key twice. Mend it where the message says. */
  malformedJson: 40001,
  /** The body is JSON but not of the shape this operation takes. Mend the field that the message names. */
  invalidBody: 40002,
  /** The account already has a plant with this id and other content. Choose another id. */
  idTaken: 40003,
  /** A query parameter is not of the shape this operation takes. Mend the one that the message names. */
  invalidQuery: 40004,
  /** No bearer token was sent. Send the header `Authorization: Bearer <ACCESS_TOKEN>`. */
  tokenMissing: 40101,
  /** The token is malformed or unknown. Check that it was copied whole. */
  tokenInvalid: 40102,
  /** The token is expired or revoked. Get a new one. */
  tokenEnded: 40103,
  /** The token lacks the scope that this operation needs. Use a token that has it. */
  scopeMissing: 40301,
  /** There is nothing at this path. Check the path and the base URL. */
  notFound: 40400,
  /** The path is known but not with this method. The `Allow` header lists those it takes. */
  methodNotAllowed: 40500,
  /** The request did not arrive whole in time. Send it again, faster. */
  requestTimeout: 40800,
  /** The body is larger than the server takes. Send less. */
  bodyTooLarge: 41300,
  /** The body is not declared as plain JSON in UTF-8. Send `Content-Type: application/json`, not compressed. */
  unsupportedMediaType: 41500,
  /** The `Expect` header asks for something other than `100-continue`. Leave it out. */
  expectationFailed: 41700,
  /** Too many requests. Wait as long as `Retry-After` says. */
  tooManyRequests: 42900,
  /** The request line and headers are larger than the server takes. Send shorter ones. */
  headersTooLarge: 43100,
  /** The server failed. The request may be sent again; if it goes on, report the `X-Request-Id`. */
  internal: 50000,
  /** The server cannot answer now. Send the request again after `Retry-After`. */
  unavailable: 50300,
  /** The HTTP version is not supported. Use HTTP/1.1. */
  httpVersionNotSupported: 50500,
} as const

/** The name of a number of the error catalogue. */
export type ErrorName = keyof typeof errorCodes

/** What each number of the error catalogue means. */
export const errorReasons: Record<ErrorName, string> = {
  badRequest:
    "The request is not well-formed HTTP, or a header that may come once came twice. Mend the HTTP client.",
  malformedJson:
    "The body is not one JSON text in UTF-8, or has a key twice. Mend it where the message says.",
  invalidBody:
    "The body is JSON but not of the shape this operation takes. Mend the field that the message names.",
  idTaken:
    "The account already has a plant with this id and other content. Choose another id.",
  invalidQuery:
    "A query parameter is not of the shape this operation takes. Mend the one that the message names.",
  tokenMissing:
    "No bearer token was sent. Send the header `Authorization: Bearer <ACCESS_TOKEN>`.",
  tokenInvalid:
    "The token is malformed or unknown. Check that it was copied whole.",
  tokenEnded:
    "The token is expired or revoked. Get a new one.",
  scopeMissing:
    "The token lacks the scope that this operation needs. Use a token that has it.",
  notFound:
    "There is nothing at this path. Check the path and the base URL.",
  methodNotAllowed:
    "The path is known but not with this method. The `Allow` header lists those it takes.",
  requestTimeout:
    "The request did not arrive whole in time. Send it again, faster.",
  bodyTooLarge:
    "The body is larger than the server takes. Send less.",
  unsupportedMediaType:
    "The body is not declared as plain JSON in UTF-8. Send `Content-Type: application/json`, not compressed.",
  expectationFailed:
    "The `Expect` header asks for something other than `100-continue`. Leave it out.",
  tooManyRequests:
    "Too many requests. Wait as long as `Retry-After` says.",
  headersTooLarge:
    "The request line and headers are larger than the server takes. Send shorter ones.",
  internal:
    "The server failed. The request may be sent again; if it goes on, report the `X-Request-Id`.",
  unavailable:
    "The server cannot answer now. Send the request again after `Retry-After`.",
  httpVersionNotSupported:
    "The HTTP version is not supported. Use HTTP/1.1.",
}

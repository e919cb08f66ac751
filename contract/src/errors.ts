import * as z from 'zod'
import { describedAs } from './json-schema.ts'

/**
 * Every failure that this service answers, one entry a reason. `code` is the `error` number of the body, stable for
 * ever: HTTP status x 100 + n, so that the status can be told from the number and a status can have several reasons.
 * `reason` is what the number means, in one sentence that also says what to do.
 */
export const errorCatalogue = {
  badRequest: {
    code: 40000,
    reason: 'The request is not well-formed HTTP, or a header that may come once came twice. Mend the HTTP client.',
  },
  malformedJson: {
    code: 40001,
    reason: 'The body is not one JSON text in UTF-8, or has a key twice. Mend it where the message says.',
  },
  invalidBody: {
    code: 40002,
    reason: 'The body is JSON but not of the shape this operation takes. Mend the field that the message names.',
  },
  idTaken: {
    code: 40003,
    reason: 'The account already has a plant with this id and other content. Choose another id.',
  },
  invalidQuery: {
    code: 40004,
    reason: 'A query parameter is not of the shape this operation takes. Mend the one that the message names.',
  },
  tokenMissing: {
    code: 40101,
    reason: 'No bearer token was sent. Send the header `Authorization: Bearer <ACCESS_TOKEN>`.',
  },
  tokenInvalid: {
    code: 40102,
    reason: 'The token is malformed or unknown. Check that it was copied whole.',
  },
  tokenEnded: {
    code: 40103,
    reason: 'The token is expired or revoked. Get a new one.',
  },
  scopeMissing: {
    code: 40301,
    reason: 'The token lacks the scope that this operation needs. Use a token that has it.',
  },
  notFound: {
    code: 40400,
    reason: 'There is nothing at this path. Check the path and the base URL.',
  },
  methodNotAllowed: {
    code: 40500,
    reason: 'The path is known but not with this method. The `Allow` header lists those it takes.',
  },
  requestTimeout: {
    code: 40800,
    reason: 'The request did not arrive whole in time. Send it again, faster.',
  },
  bodyTooLarge: {
    code: 41300,
    reason: 'The body is larger than the server takes. Send less.',
  },
  unsupportedMediaType: {
    code: 41500,
    reason: 'The body is not declared as plain JSON in UTF-8. Send `Content-Type: application/json`, not compressed.',
  },
  expectationFailed: {
    code: 41700,
    reason: 'The `Expect` header asks for something other than `100-continue`. Leave it out.',
  },
  tooManyRequests: {
    code: 42900,
    reason: 'Too many requests. Wait as long as `Retry-After` says.',
  },
  headersTooLarge: {
    code: 43100,
    reason: 'The request line and headers are larger than the server takes. Send shorter ones.',
  },
  internal: {
    code: 50000,
    reason: 'The server failed. The request may be sent again; if it goes on, report the `X-Request-Id`.',
  },
  unavailable: {
    code: 50300,
    reason: 'The server cannot answer now. Send the request again after `Retry-After`.',
  },
  httpVersionNotSupported: {
    code: 50500,
    reason: 'The HTTP version is not supported. Use HTTP/1.1.',
  },
} as const satisfies Record<string, { code: number; reason: string }>

/** The name of an entry of the error catalogue. */
export type ErrorName = keyof typeof errorCatalogue

/** A number of the error catalogue. */
export type ErrorCode = (typeof errorCatalogue)[ErrorName]['code']

/** The HTTP status that an entry of the catalogue is answered with. */
export function statusOf(name: ErrorName): number {
  return Math.floor(errorCatalogue[name].code / 100)
}

/** The body of every failure, of any status on any path. */
export const ErrorSchema = z
  .object({
    error: z.int32().meta({
      description: 'Numeric error value: a number of the error catalogue, HTTP status x 100 + n.',
      examples: [40002],
      ...describedAs({ type: 'integer', format: 'int32' }),
    }),
    message: z.string().meta({
      description: 'Error text for people: what was wrong and what to mend. It may change; decide by `error`.',
      examples: ['name: is required'],
    }),
  })
  .meta({ id: 'Error', description: 'The body of every failure, of any status on any path.' })

/** The body of every failure. */
export type ErrorBody = z.output<typeof ErrorSchema>

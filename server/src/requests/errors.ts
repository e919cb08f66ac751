/** What the client gets when a request fails. */
import type { ServerResponse } from 'node:http'
import { type ErrorBody, type ErrorName, errorCatalogue, limits, statusOf } from '@plant-store/contract'
import { StorageError } from '@plant-store/prisma'
import type { RequestValidationError } from '@ts-rest/express'
import type { ErrorRequestHandler, Request } from 'express'
import type { Logger } from 'pino'
import { onceIn } from '../telemetry/log.ts'
import { sendJson } from './responses.ts'

/** An error that the client gets as an `Error` body: thrown anywhere, sent by the error handler. */
export class HttpError extends Error {
  override readonly name = 'HttpError'
  readonly errorName: ErrorName
  readonly headers: Record<string, string>

  /**
   * @param errorName the entry of the error catalogue; it decides the status and the code
   * @param message what to fix, in one sentence that names the field; never a token, nor a value of the body
   * @param options `headers` of the response, such as `Allow` or `Retry-After`, and the underlying error as `cause`,
   *   which is logged and never sent
   */
  constructor(
    errorName: ErrorName,
    message: string = errorCatalogue[errorName].reason,
    { headers = {}, cause }: { headers?: Record<string, string>; cause?: unknown } = {},
  ) {
    super(message, { cause })
    this.errorName = errorName
    this.headers = headers
  }

  get status(): number {
    return statusOf(this.errorName)
  }
}

/** Creates an error that ends the connection: where its request ends is uncertain, or the rest is not read. */
export function closing(errorName: ErrorName, message?: string): HttpError {
  return new HttpError(errorName, message, { headers: { Connection: 'close' } })
}

/**
 * Creates the 503 of a request that its client should retry.
 *
 * @param retryAfter when, in seconds
 * @param cause what is logged; undefined: nothing, since shed requests are counted instead
 */
export function unavailable(message: string, retryAfter: number, cause?: unknown): HttpError {
  return new HttpError('unavailable', message, { headers: { 'Retry-After': String(retryAfter) }, cause })
}

/**
 * Creates the 503 of a request that finds no place. It names a random time, so that clients that were shed together do not
 * retry together.
 */
export function overloaded(): HttpError {
  const seconds = 1 + Math.floor(Math.random() * 3)
  return unavailable('The server has more requests than it can handle. Retry later.', seconds)
}

/**
 * Responds to every failure with an `Error` body. What is not a {@link HttpError} is a fault
 * of the server: 500, logged.
 */
export function createErrorHandler(logger: Logger): ErrorRequestHandler {
  const mayWarn = onceIn(1_000)

  function log(failure: HttpError, requestId: string): void {
    const { errorName, cause, message } = failure
    const details = { requestId, err: cause ?? failure }
    if (errorName !== 'unavailable') logger.error(details, message)
    else if (cause === undefined) logger.debug(details, message)
    // While the database is unavailable, every request would be a line, also one without a token.
    else if (mayWarn(errorName)) logger.warn(details, message)
  }

  // Express recognizes an error handler by its four parameters.
  return (error: unknown, request, response, _next) => {
    // A request that did not arrive whole has its response already.
    if (response.writableEnded) return
    const failure = toHttpError(error)
    if (failure.status >= 500) log(failure, request.context.requestId)
    if (response.headersSent) {
      // For the log and the metrics.
      response.statusCode = failure.status
      response.destroy(failure)
      return
    }
    sendError(response, failure)
  }
}

function toHttpError(error: unknown): HttpError {
  if (error instanceof HttpError) return error
  // Express cannot decode a path parameter such as `%zz`.
  if (error instanceof URIError && 'status' in error) return new HttpError('notFound')
  if (!(error instanceof StorageError)) return new HttpError('internal', undefined, { cause: error })
  const state = error.fault === 'locked' ? 'busy' : 'currently unavailable'
  return unavailable(`The database is ${state}. Retry the request.`, error.retryAfter, error)
}

const MALFORMED_QUERY = 'The query must be UTF-8, percent-encoded, with at most 1000 parameters.'

/**
 * Rejects a request for ts-rest's validation error.
 *
 * @throws {HttpError} that names the fields, but never their values
 */
export function rejectInvalid({ pathParams, query, body }: RequestValidationError, request: Request): never {
  if (pathParams) throw new HttpError('notFound', describeIssues(pathParams, 'The path'))
  if (query && !request.query) throw new HttpError('invalidQuery', MALFORMED_QUERY)
  if (query) throw new HttpError('invalidQuery', describeIssues(query, 'The query', request.query))
  if (body) throw new HttpError('invalidBody', describeIssues(body, 'The body'))
  throw new HttpError('badRequest')
}

/** What ts-rest knows of an invalid part of a request; `code` is zod's. */
type Issues = readonly (NonNullable<RequestValidationError['body']>['issues'][number] & { readonly code?: string })[]

/**
 * Writes the path and the message of the schema for each issue: `name: is required; tag: must be a string`.
 *
 * @param query the parameters as they arrived, where one that is repeated is a list
 */
function describeIssues({ issues }: { readonly issues: Issues }, whole: string, query: Request['query'] = {}): string {
  const sentences = issues.slice(0, limits.issues).map(({ path = [], message, code = '' }) => {
    const name = path.map(String).join('.')
    const isDuplicate = Array.isArray(query[name]) && code.startsWith('invalid_')
    return name ? `${name}: ${isDuplicate ? 'must appear only once' : message}` : `${whole} ${message}`
  })
  const more = issues.length - sentences.length
  return sentences.join('; ') + (more > 0 ? `; and ${more} more` : '')
}

/** Responds with an `Error` body, also before Express has seen the request. */
export function sendError(response: ServerResponse, failure: HttpError): void {
  for (const [name, value] of Object.entries(failure.headers)) response.setHeader(name, value)
  response.statusCode = failure.status
  const { code } = errorCatalogue[failure.errorName]
  response.req.context.errorCode = code
  sendJson(response, JSON.stringify({ error: code, message: failure.message } satisfies ErrorBody))
}

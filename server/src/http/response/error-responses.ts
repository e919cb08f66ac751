import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import type { Database } from '@plant-store/prisma'
import type { RequestValidationError } from '@ts-rest/express'
import type { NextFunction, Request, Response } from 'express'
import type { Logger } from 'pino'
import type * as z from 'zod'
import { HttpError } from '../../http-error.ts'
import { CLIENT_CLOSED_REQUEST } from '../../telemetry/events.ts'
import { sendJson } from './send-json.ts'

type ValidationError = NonNullable<RequestValidationError['body']>
type Issue = z.core.$ZodIssue

/** How many invalid fields a message names. */
const MAX_ISSUES = 3
/** How much of a body may be read and discarded, in bytes: up to this it is cheaper than a new connection. */
const SMALL_BODY = 64 * 1024
/** How long the failures of the database that follow one are not logged, in milliseconds. */
const REPEATED = 1_000
/** How long a client may keep sending, or keep its side of a connection open, in milliseconds. */
const LINGERING = 1_000

/** The status of what was sent instead of a response. */
const replaced = new WeakMap<ServerResponse, number>()

/** Responds to every failure with an `Error` body. What is not a {@link HttpError} is a fault of the server: 500, logged. */
export function errorHandler(logger: Logger, databaseFailure: Database['failure']) {
  let silentUntil = 0

  function log(failure: HttpError, requestId: string): void {
    const level = levelOf(failure)
    // While the database is unavailable, every request would be a line, also one without a token.
    if (level === 'warn') {
      if (performance.now() < silentUntil) return
      silentUntil = performance.now() + REPEATED
    }
    logger[level]({ requestId, err: failure.cause ?? failure }, failure.message)
  }

  // Express recognizes an error handler by its four parameters.
  return (error: unknown, request: Request, response: Response, _next: NextFunction): void => {
    const failure = toHttpError(error, databaseFailure)
    if (failure.status >= 500) log(failure, request.requestId)
    if (response.headersSent) {
      response.destroy(failure)
      return
    }
    sendError(response, failure)
  }
}

function levelOf({ reason, cause }: HttpError): 'error' | 'warn' | 'debug' {
  if (reason !== 'unavailable') return 'error'
  // Shed requests are counted instead of logged one by one.
  return cause === undefined ? 'debug' : 'warn'
}

function toHttpError(error: unknown, databaseFailure: Database['failure']): HttpError {
  if (error instanceof HttpError) return error
  // Express cannot decode a path parameter such as `%zz`.
  if (error instanceof URIError && 'status' in error) return new HttpError('notFound')
  const temporary = databaseFailure(error)
  if (!temporary) return new HttpError('internal', undefined, { cause: error })
  const headers = { 'Retry-After': String(temporary.retryAfter) }
  return new HttpError('unavailable', temporary.message, { headers, cause: error })
}

/** Converts ts-rest's validation error into a failure that names the fields, but never their values. */
export function toValidationError(
  error: RequestValidationError,
  { tsRestRoute: route }: { tsRestRoute: object },
): HttpError {
  const { pathParams, headers, query, body } = error
  const schema = 'body' in route ? (route.body as z.core.$ZodType) : undefined
  if (pathParams) return new HttpError('notFound', describeIssues(pathParams, 'The path'))
  if (headers) return new HttpError('badRequest', describeIssues(headers, 'The headers'))
  if (query) return new HttpError('invalidQuery', describeIssues(query, 'The query'))
  if (body) return new HttpError('invalidBody', describeIssues(body, 'The body', schema))
  return new HttpError('badRequest')
}

function describeIssues({ issues }: ValidationError, whole: string, schema?: z.core.$ZodType): string {
  const all = (issues as readonly Issue[]).flatMap(explainIssue)
  const sentences = all.slice(0, MAX_ISSUES).map(({ path, message }) => {
    const isNullable = message.startsWith('must be ') && mayBeNull(schema, path)
    return `${path.length > 0 ? `${path.join('.')}:` : whole} ${message}${isNullable ? ' or null' : ''}`
  })
  const more = all.length - sentences.length
  return sentences.join('; ') + (more > 0 ? `; and ${more} more` : '')
}

/** Explains of a union what is wrong in the alternative that has the type of the value, if there is one. */
function explainIssue(issue: Issue): Pick<Issue, 'path' | 'message'>[] {
  const { path } = issue
  if (issue.code !== 'invalid_union' || issue.message !== 'Invalid input') return [{ path, message: toWords(issue) }]
  const alternatives = issue.errors.map((issues) => issues.flatMap(explainIssue))
  const meant = alternatives.find((parts) => parts.every((part) => part.path.length > 0))
  if (meant) return meant.map((part) => ({ ...part, path: [...path, ...part.path] }))
  const reasons = alternatives.flatMap((parts) => parts.filter((part) => part.path.length === 0))
  const types = new Set(reasons.map(({ message }) => message.replace('must be ', '')))
  const other = reasons.find(({ message }) => !message.startsWith('must be '))
  return [{ path, message: other?.message ?? `must be ${[...types].join(' or ')}` }]
}

/** Returns the message of an issue. A schema without a message of its own has zod's, which is put in our words. */
function toWords(issue: Issue): string {
  if (!issue.message.startsWith('Invalid ')) return issue.message
  if (issue.message.endsWith('received undefined')) return 'is required'
  const values = 'values' in issue ? issue.values : 'options' in issue ? (issue.options as unknown[]) : []
  if (values.length > 0) return `must be ${values.map((value) => JSON.stringify(value)).join(' or ')}`
  if (issue.code !== 'invalid_type') return issue.message
  const type = issue.expected === 'int' ? 'integer' : issue.expected
  return `must be ${type === 'null' ? '' : /^[aeiou]/.test(type) ? 'an ' : 'a '}${type}`
}

/** Whether the value at a path of a body may also be null. */
function mayBeNull(schema: z.core.$ZodType | undefined, path: readonly PropertyKey[]): boolean {
  if (!schema) return false
  const { def } = schema._zod as z.core.$ZodTypes['_zod']
  const [name, ...rest] = path
  if ('innerType' in def) return (def.type === 'nullable' && name === undefined) || mayBeNull(def.innerType, path)
  if (def.type === 'pipe') return mayBeNull(def.in, path)
  if (name === undefined) return false
  if (def.type === 'object') return mayBeNull(def.shape[String(name)], rest)
  if (def.type === 'array') return mayBeNull(def.element, rest)
  return def.type === 'record' && mayBeNull(def.valueType, rest)
}

/** Responds with an `Error` body, also before Express has seen the request. */
export function sendError(response: ServerResponse, failure: HttpError): void {
  for (const [name, value] of Object.entries(failure.headers)) response.setHeader(name, value)
  const { req: request } = response
  if (!endsSoon(request)) response.setHeader('Connection', 'close')
  // On a connection that stays open, Node.js reads and discards the rest of the body.
  if (!request.complete && response.getHeader('Connection') === 'close') closeLingering(request)
  response.statusCode = failure.status
  sendJson(response, JSON.stringify(failure.body))
}

/**
 * Whether the rest of a request is small enough to keep its connection. Clients that were shed then retry on their open
 * connections: a busy server accepts new ones slowly, one per turn of its event loop (libuv since 1.45).
 */
function endsSoon({ complete, headers }: IncomingMessage): boolean {
  if (complete) return true
  // The size of chunks is unknown, and a client that waits for "100 Continue" may send the body or not.
  if (headers['transfer-encoding'] !== undefined || headers.expect !== undefined) return false
  return Number(headers['content-length'] ?? 0) <= SMALL_BODY
}

/** Closes a connection that this side has ended, unless the client does soon. */
export function closeLater(socket: Duplex): void {
  const timer = setTimeout(() => socket.destroy(), LINGERING).unref()
  socket.once('close', () => clearTimeout(timer))
}

/**
 * Closes the connection of a request so that its client can read the response (RFC 9112 section 9.6). If a connection is
 * closed while a client is sending, the client's system discards the response, so this side only ends its half, discards
 * what still arrives for a moment, and then closes. Node.js calls `destroySoon` once the last response is written.
 */
function closeLingering(request: IncomingMessage): void {
  const { socket } = request
  socket.destroySoon = () => {
    closeLater(socket)
    socket.once('end', () => socket.destroy()).end()
    request.resume()
  }
}

/** Notes that another response was sent instead of this one, which will never finish. */
export function replaceStatus(response: ServerResponse, status: number): void {
  replaced.set(response, status)
}

/** Returns the status of a response that has closed: 499 if the connection closed before the response was complete. */
export function finalStatus(response: ServerResponse): number {
  if (response.writableFinished) return response.statusCode
  const { errored } = response
  // The client has seen a status of success, and then that the connection broke.
  if (errored) return errored instanceof HttpError ? errored.status : 500
  return replaced.get(response) ?? CLIENT_CLOSED_REQUEST
}

import { IncomingMessage, ServerResponse } from 'node:http'
import { pipeline } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Express, Response } from 'express'
import { settle } from '../connections/connections.ts'
import type { RequestContext } from './context.ts'

const SAFE = {
  'X-Content-Type-Options': 'nosniff',
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
}
/** The headers of every response: it must not be cached, and holds nothing that a browser runs. */
const COMMON_HEADERS = Object.entries({ 'Cache-Control': 'no-store', ...SAFE })
/** Those of one with an `ETag`: the client may keep it for itself, and asks each time whether it is still the same. */
const TAGGED_HEADERS = Object.entries({ 'Cache-Control': 'private, no-cache', Vary: 'Authorization', ...SAFE })
const [COMMON, TAGGED] = [COMMON_HEADERS.flat(), TAGGED_HEADERS.flat()]
/** The media type of every response with a body. */
const JSON_CONTENT_TYPE = 'application/json; charset=utf-8'

/** A piece of JSON text, and how to get the next one; undefined: it is the last. */
export interface JsonPiece {
  readonly json: Buffer
  readonly next: NextPiece | undefined
}
export type NextPiece = () => Promise<JsonPiece>

/**
 * Passes JSON text, whole or in pieces that are read while they are sent, as the response body `T` that it represents.
 */
export function asBody<T>(json: Buffer | NextPiece): T {
  const body: unknown = json
  return body as T
}

/** The classes of requests and responses of a server. */
export interface MessageClasses {
  readonly IncomingMessage: typeof IncomingMessage
  readonly ServerResponse: typeof ServerResponse
}

/**
 * Creates the classes of requests and responses of an app, which have Express's methods. Express would replace the
 * prototype of each, after which V8 optimizes it less (https://github.com/expressjs/express/issues/5998): a list takes 7 %
 * more CPU time.
 *
 * All responses get their common headers, and `response.json` sends a value or {@link asBody}, and does nothing else:
 * Express's own also looks for a charset, a replacer, an ETag and freshness with every response.
 */
export function createMessageClasses(app: Express): MessageClasses {
  class AppRequest extends IncomingMessage {}
  class AppResponse<Message extends IncomingMessage> extends ServerResponse<Message> {}
  Object.setPrototypeOf(AppRequest.prototype, app.request)
  Object.setPrototypeOf(AppResponse.prototype, app.response)
  app.request = AppRequest.prototype as typeof app.request
  app.response = AppResponse.prototype as typeof app.response
  // Headers as a list of names and values, which Node.js does not copy: with one `setHeader`, it calls that for each.
  app.response.writeHead = function addHeaders(this: Response, status: number, headers: string[] = []) {
    settle(this)
    const { context } = this.req
    // An error is neither what has the tag nor the page that the link leads on from.
    const { etag, link }: Partial<RequestContext> = status < 400 ? context : {}
    const isTagged = etag !== undefined
    const own = ['X-Request-Id', context.requestId, ...headers]
    if (isTagged) own.push('ETag', etag)
    if (link !== undefined) own.push('Link', link)
    const { writeHead } = ServerResponse.prototype
    if (this.getHeaderNames().length === 0)
      return writeHead.call(this, status, [...(isTagged ? TAGGED : COMMON), ...own])
    if (isTagged) this.vary('Authorization')
    const missing = (isTagged ? TAGGED_HEADERS : COMMON_HEADERS).filter(([name]) => !this.hasHeader(name))
    return writeHead.call(this, status, [...missing.flat(), ...own])
  } as Response['writeHead']
  app.response.json = function json(body) {
    if (Buffer.isBuffer(body)) sendJson(this, body)
    else if (typeof body === 'function') sendPieces(this, body)
    else sendJson(this, JSON.stringify(body, exactIntegers) ?? 'null')
    return this
  }
  return { IncomingMessage: AppRequest, ServerResponse: AppResponse }
}

/** Writes a bigint, for which `JSON.stringify` throws, as an exact number. TypeScript does not know `rawJSON` yet. */
function exactIntegers(_name: string, value: unknown): unknown {
  const { rawJSON } = JSON as typeof JSON & { rawJSON(text: string): unknown }
  return typeof value === 'bigint' ? rawJSON(String(value)) : value
}

/** Ends a response with JSON text. As a string, a short one is written together with the headers, which is faster. */
export function sendJson(response: ServerResponse, json: Buffer | string): void {
  // Node.js does not count the body of a response to HEAD.
  const headers = ['Content-Type', JSON_CONTENT_TYPE, 'Content-Length', String(Buffer.byteLength(json))]
  response.writeHead(response.statusCode, headers).end(json)
}

/** Sends one piece after the other, each once the client has read the one before. A client that disconnects ends it. */
function sendPieces(response: Response, first: NextPiece): void {
  response.setHeader('Content-Type', JSON_CONTENT_TYPE)
  // Also where the client has gone: without headers, the request would count as in flight for ever.
  pipeline(readPieces(response, first), response, () => response.end())
}

/**
 * Reads one piece after the other. Until the first one is read, a failure gets its own response; midway it breaks the
 * connection rather than ending in a valid shorter list, and discards what is not sent yet.
 */
async function* readPieces({ req: request }: Response, first: NextPiece): AsyncGenerator<Buffer> {
  try {
    // A response to HEAD has no body, so no piece is read.
    let next = request.method === 'HEAD' ? undefined : first
    while (next) {
      const piece: JsonPiece = await next()
      yield piece.json
      next = piece.next
      // Other requests go on meanwhile, however fast a list is read.
      await nextTurn()
    }
  } catch (error) {
    // Express's `next` of this request: the handler has returned, so nothing would catch a throw.
    request.next?.(error)
  }
}

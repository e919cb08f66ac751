import { ServerResponse } from 'node:http'
import { pipeline } from 'node:stream/promises'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Express, Response } from 'express'

/** The headers of every response: it must not be cached, and holds nothing that a browser runs. */
export const COMMON_HEADERS = Object.entries({
  'Cache-Control': 'no-store',
  'X-Content-Type-Options': 'nosniff',
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
})
const COMMON = COMMON_HEADERS.flat()
/** The media type of every response with a body. */
export const JSON_CONTENT_TYPE = 'application/json; charset=utf-8'

/** JSON text in chunks, each of which is read when it is requested. */
export type JsonChunks = AsyncIterableIterator<Buffer | string, undefined>

/** A response body that is JSON text already. */
class SerializedJson {
  readonly json: Buffer | JsonChunks

  constructor(json: Buffer | JsonChunks) {
    this.json = json
  }
}

/** Wraps JSON text, whole or in chunks that are read while they are sent, as the response body `T` that it represents. */
export function serializedJson<T>(json: Buffer | JsonChunks): T {
  const body: unknown = new SerializedJson(json)
  return body as T
}

/**
 * Gives all responses of an app their common headers, and makes `response.json` send a value or {@link serializedJson}, and do
 * nothing else: Express's own also looks for a charset, a replacer, an ETag and freshness with every response.
 */
export function extendResponses(app: Express): void {
  const { writeHead } = ServerResponse.prototype
  // Headers as a list of names and values, which Node.js does not copy: `setHeader` for each takes longer.
  app.response.writeHead = function addHeaders(this: Response, status: number, headers: string[] = []) {
    const names = this.getHeaderNames()
    const common = names.length === 0 ? COMMON : COMMON_HEADERS.filter(([name]) => !this.hasHeader(name)).flat()
    return writeHead.call(this, status, [...common, 'X-Request-Id', this.req.requestId, ...headers])
  } as Response['writeHead']
  app.response.json = function json(body) {
    if (!(body instanceof SerializedJson)) sendJson(this, JSON.stringify(body, exactIntegers) ?? 'null')
    else if (Buffer.isBuffer(body.json)) sendJson(this, body.json)
    else void sendChunks(this, body.json)
    return this
  }
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

/**
 * Sends one chunk after the other, each once the client has read the one before. Until the first one is read, a failure gets
 * its own response; midway it breaks the connection rather than ending in a valid shorter list. A client that disconnects
 * ends it.
 */
async function sendChunks(response: Response, chunks: JsonChunks): Promise<void> {
  response.setHeader('Content-Type', JSON_CONTENT_TYPE)
  // A response to HEAD has no body, so nothing more is read.
  if (response.req.method === 'HEAD') {
    response.end()
    return
  }
  try {
    await sendFirst(response, chunks)
    if (!response.closed) await pipeline(flushEach(chunks), response)
  } catch (error) {
    // Express's `next` of this request: the handler has returned, so a throw would reach nobody.
    if ((error as NodeJS.ErrnoException).code !== 'ERR_STREAM_PREMATURE_CLOSE') response.req.next?.(error)
  }
  // Its client has gone. Without headers, the request would count as in flight for ever.
  if (response.closed) response.end()
}

/** Waits until earlier responses of a connection are sent, or it has closed: what is read before would wait in memory. */
export async function waitForConnection(response: Response): Promise<void> {
  if (response.socket || response.closed) return
  await new Promise<unknown>((resolve) => response.once('socket', resolve).once('close', resolve))
}

/** Sends the first chunk. It is not read in the pipeline, which closes the connection of a response that has not begun. */
async function sendFirst(response: Response, chunks: JsonChunks): Promise<void> {
  if (response.closed) return
  const { value } = await chunks.next()
  if (response.closed) return
  response.write(value)
  await nextTurn()
}

/**
 * Lets Node.js send each chunk before the next one is read: if that fails, what is not sent yet is discarded. Other requests
 * get their turn too, however fast a list is read.
 */
async function* flushEach(chunks: JsonChunks): AsyncGenerator<Buffer | string, undefined> {
  for await (const chunk of chunks) {
    yield chunk
    await nextTurn()
  }
  return undefined
}

import type { ServerResponse } from 'node:http'
import type { Express, Response } from 'express'
import { BYTES_PER_CHARACTER, type ReaderMemory } from './response-memory.ts'

/** The headers of every response: it must not be cached, and holds nothing that a browser runs. */
export const COMMON_HEADERS = Object.entries({
  'Cache-Control': 'no-store',
  'X-Content-Type-Options': 'nosniff',
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
})
/** The media type of every response with a body. */
export const JSON_CONTENT_TYPE = 'application/json; charset=utf-8'

type JsonPieces = AsyncIterator<string, undefined>

/** A response body that is JSON text already. */
class SerializedJson {
  readonly json: Buffer | JsonPieces
  readonly memory: ReaderMemory

  constructor(json: Buffer | JsonPieces, memory: ReaderMemory) {
    this.json = json
    this.memory = memory
  }
}

/** Wraps JSON text, whole or in pieces that are read while they are sent, as the response body `T` that it represents. */
export function serializedJson<T>(json: Buffer | JsonPieces, memory: ReaderMemory): T {
  const body: unknown = new SerializedJson(json, memory)
  return body as T
}

/**
 * Makes `response.json` send a value or {@link serializedJson}, and do nothing else: Express's own also looks for a
 * charset, a replacer, an ETag and freshness with every response.
 */
export function overrideJson(app: Express): void {
  app.response.json = function json(body) {
    if (!(body instanceof SerializedJson)) sendJson(this, JSON.stringify(body, exactIntegers) ?? 'null')
    else if (Buffer.isBuffer(body.json)) sendWhole(this, body.json, body.memory)
    else void sendPieces(this, body.json, body.memory)
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

function sendWhole(response: ServerResponse, bytes: Buffer, memory: ReaderMemory): void {
  sendJson(response, bytes)
  // Usually the operating system has taken all of it already.
  if (response.socket && response.socket.writableLength > 0) response.once('close', memory.hold(bytes))
}

/**
 * Sends one piece after the other, each once the client has read the one before and there is room for it. A failure
 * midway breaks the connection rather than ending in a valid shorter list; a client that disconnects ends it.
 */
async function sendPieces(response: Response, pieces: JsonPieces, memory: ReaderMemory): Promise<void> {
  const readNext = () => memory.readNext(() => pieces.next())
  response.setHeader('Content-Type', JSON_CONTENT_TYPE)
  try {
    // A response to HEAD has no body, so nothing more is read.
    if (response.req.method === 'HEAD') {
      response.end()
      return
    }
    // The first piece has been read already. No variable keeps a piece that is sent, while the next one waits for room.
    let isOpen = await sendPiece(response, await pieces.next(), memory)
    while (isOpen) isOpen = await sendPiece(response, await readNext(), memory)
  } catch (error) {
    // Express's `next` of this request: the handler has returned, so a throw would reach nobody. The error handler logs the
    // error and breaks the connection.
    response.req.next?.(error)
  }
}

/** Resolves once a piece is no longer in memory: true if another may follow. */
async function sendPiece(
  response: ServerResponse,
  { value: piece, done }: IteratorResult<string, undefined>,
  memory: ReaderMemory,
): Promise<boolean> {
  if (response.closed) return false
  if (done) {
    response.end()
    return false
  }
  if (response.write(piece)) return true
  const release = memory.hold(BYTES_PER_CHARACTER * piece.length)
  await drained(response)
  release()
  return true
}

function drained(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      response.off('drain', end).off('close', end)
      resolve()
    }
    response.on('drain', end).on('close', end)
  })
}

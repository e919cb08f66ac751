import type { IncomingMessage, ServerResponse } from 'node:http'
import { type contract, errorMessages } from '@plant-store/contract'
import { ContractNoBody } from '@ts-rest/core'
import type { TsRestRequest } from '@ts-rest/express'
import { parse as parseContentType } from 'content-type'
import type { Request } from 'express'
import { HttpError, shed } from '../../http-error.ts'
import type { FairShare } from '../../limits/fair-share.ts'
import { createBodyParser, disconnected, parseBody } from './parse-body.ts'

/** How much of a charset an error names: those that IANA registers are no longer (RFC 2978 section 2.3). */
const MAX_CHARSET_LENGTH = 40
/** A body of at most so many bytes is parsed immediately. */
const SHORT_BODY = 4 * 1024
/** The first buffer of a body of unknown length, in bytes; then twice as much each time. */
const FIRST_CAPACITY = 16 * 1024
const EMPTY = Buffer.alloc(0)

/**
 * Reads the JSON body of an operation that takes one. The order of the checks: size 413, media type 415, memory 503, JSON
 * 400. A body that is declared too large is rejected before it is read.
 *
 * @param limit the largest body, in bytes
 * @param memory what all bodies may take, in bytes
 */
export function readBody(
  limit: number,
  memory: FairShare,
): (request: TsRestRequest<typeof contract>, response: ServerResponse) => Promise<void> {
  const parseInTurn = createBodyParser()

  return async (request, response) => {
    const { body } = request.tsRestRoute as { body?: unknown }
    if (body === undefined || body === ContractNoBody) return
    if (Number(request.headers['content-length'] ?? 0) > limit) throw tooLarge(limit)
    checkMediaType(request)
    // A client of HTTP/1.0 would take it for the response (RFC 9110 section 10.1.1).
    if (request.headers.expect !== undefined && request.httpVersion !== '1.0') response.writeContinue()
    const room = takeRoom(request, memory)
    try {
      const bytes = await readBytes(request, limit, room.grow)
      if (bytes.length <= SHORT_BODY) request.body = parseBody(bytes) as never
      else {
        room.grow(bytes.length)
        request.body = (await parseInTurn(request.identity.account, bytes, () => request.socket.writable)) as never
      }
    } finally {
      room.release()
    }
  }
}

function checkMediaType({ headers }: IncomingMessage): void {
  const { type, parameters } = parseContentType(headers['content-type'] ?? '')
  const charset = parameters['charset'] || 'utf-8'
  if (type !== 'application/json') throw unsupported('Content-Type: must be application/json, in UTF-8')
  if (!isNameOfUtf8(charset)) {
    const name = JSON.stringify(charset.slice(0, MAX_CHARSET_LENGTH))
    throw unsupported(`Content-Type: the charset must be UTF-8, not ${name}`)
  }
  const encoding = headers['content-encoding']
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') {
    throw unsupported('Content-Encoding: the body must be sent uncompressed', { 'Accept-Encoding': 'identity' })
  }
}

function unsupported(message: string, headers: Record<string, string> = { Accept: 'application/json' }): HttpError {
  return new HttpError('unsupportedMediaType', message, { headers })
}

/** Whether a charset is one of the names of UTF-8, such as `utf8` (https://encoding.spec.whatwg.org/#names-and-labels). */
function isNameOfUtf8(charset: string): boolean {
  try {
    return new TextDecoder(charset).encoding === 'utf-8'
  } catch {
    return false
  }
}

/** Takes room in memory for the body of a request, which may grow. */
function takeRoom(request: Pick<Request, 'identity' | 'complete'>, memory: FairShare) {
  const { account } = request.identity
  let held = 0
  return {
    grow(size: number): void {
      if (size <= held) return
      if (!memory.hasRoom(account, size - held)) {
        // Nothing reads the rest of the body.
        const headers = request.complete ? undefined : { Connection: 'close' }
        throw shed('body-memory', 'The server is receiving too many large bodies. Retry later.', headers)
      }
      memory.take(account, size - held)
      held = size
    },

    release: () => memory.release(account, held),
  }
}

/**
 * Reads a body into one buffer: Node.js gives each piece a buffer of its own, which takes hundreds of bytes even for one.
 * A body in one piece is not copied.
 */
async function readBytes(request: IncomingMessage, limit: number, reserve: (size: number) => void): Promise<Buffer> {
  const declared = request.headers['content-length']
  let buffer: Buffer = EMPTY
  let size = 0

  function append(chunk: Buffer): void {
    const end = size + chunk.length
    if (end > limit) throw tooLarge(limit)
    if (chunk.length === Number(declared)) buffer = chunk
    else {
      if (end > buffer.length) grow(declared === undefined ? capacityFor(end) : Number(declared))
      chunk.copy(buffer, size)
    }
    size = end
  }

  function capacityFor(end: number): number {
    return Math.min(limit, Math.max(end, 2 * buffer.length, FIRST_CAPACITY))
  }

  function grow(capacity: number): void {
    reserve(capacity)
    const grown = Buffer.allocUnsafeSlow(capacity)
    buffer.copy(grown, 0, 0, size)
    buffer = grown
  }

  await readChunks(request, append)
  return buffer.subarray(0, size)
}

function readChunks(request: IncomingMessage, append: (chunk: Buffer) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    // If the connection has closed already, no event follows.
    if (request.destroyed && !request.complete) reject(disconnected())
    request
      .on('data', (chunk: Buffer) => {
        try {
          append(chunk)
        } catch (error) {
          request.removeAllListeners('data').pause()
          reject(error)
        }
      })
      // Wait for the end, not for the last byte of a declared length: a response before the end closes the connection.
      .on('end', resolve)
      // A broken connection emits `close` in any case, but `error` only where something listens to it.
      .on('close', () => {
        if (!request.complete) reject(disconnected())
      })
  })
}

/** The rest of the body is not read. */
function tooLarge(limit: number): HttpError {
  return new HttpError('bodyTooLarge', errorMessages.bodyTooLarge.replace('{limit}', String(limit)), {
    headers: { Connection: 'close' },
  })
}

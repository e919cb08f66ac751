import { isUtf8 } from 'node:buffer'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { type contract, errorMessages, limits } from '@plant-store/contract'
import { ContractNoBody } from '@ts-rest/core'
import type { TsRestRequest } from '@ts-rest/express'
import { parse as parseContentType } from 'content-type'
import { HttpError } from './errors.ts'
import { parseJson } from './exact-json.ts'

/** How much of a charset an error names: those that IANA registers are no longer (RFC 2978 section 2.3). */
const MAX_CHARSET_LENGTH = 40
const BYTE_ORDER_MARK = 0xfeff
/** The names of UTF-8 (https://encoding.spec.whatwg.org/#names-and-labels). */
const UTF_8 = /^(?:utf-?8|unicode-1-1-utf-8|unicode(?:11|20)utf8|x-unicode20utf8)$/i

/**
 * Reads the JSON body of an operation that takes one. The order of the checks: size 413, media type 415, JSON 400. A
 * body that is declared too large is rejected before it is read.
 */
export async function readBody(request: TsRestRequest<typeof contract>, response: ServerResponse): Promise<void> {
  const { body } = request.tsRestRoute as { body?: unknown }
  if (body === undefined || body === ContractNoBody) return
  if (Number(request.headers['content-length'] ?? 0) > limits.bodyBytes) throw tooLarge()
  checkMediaType(request)
  // A client of HTTP/1.0 would take it for the response (RFC 9110 section 10.1.1).
  if (request.headers.expect !== undefined && request.httpVersion !== '1.0') response.writeContinue()
  const text = await readText(request)
  request.body = parseJson(text.charCodeAt(0) === BYTE_ORDER_MARK ? text.slice(1) : text) as never
}

function checkMediaType({ headers }: IncomingMessage): void {
  const { type, parameters } = parseContentType(headers['content-type'] ?? '')
  const charset = parameters['charset']?.trim() || 'utf-8'
  if (type !== 'application/json') throw unsupported('Content-Type: must be application/json, in UTF-8')
  if (!UTF_8.test(charset)) {
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

/** Reads a body, into one buffer: each chunk that Node.js gives keeps hundreds of bytes, even one of a single byte. */
async function readText(request: IncomingMessage): Promise<string> {
  // Without a length or chunks there is no body, and no event of one (`optimizeEmptyRequests`).
  if (request.readableEnded) return ''
  const capacity = Number(request.headers['content-length'] ?? limits.bodyBytes)
  let buffer: Buffer | undefined
  let isOwn = false
  let size = 0

  await new Promise<void>((resolve, reject) => {
    const fail = () => reject(disconnected())
    // If the connection has closed already, no event follows, even if the body had arrived.
    if (request.destroyed) fail()
    request
      .on('data', (chunk: Buffer) => {
        if (size + chunk.length > limits.bodyBytes) {
          request.off('close', fail).removeAllListeners('data').pause()
          reject(tooLarge())
          return
        }
        // Usually the body arrives in one chunk.
        if (chunk.length === capacity) buffer = chunk
        else {
          buffer ??= Buffer.allocUnsafeSlow(capacity)
          isOwn = true
          chunk.copy(buffer, size)
        }
        size += chunk.length
      })
      // Wait for the end, not for the last byte of a declared length: a response before the end closes the connection.
      .on('end', () => {
        // It follows on every request, and an error with its stack takes a tenth of the CPU time of a POST.
        request.off('close', fail)
        resolve()
      })
      // A broken connection emits `close` in any case, but `error` only where something listens to it.
      .on('close', fail)
  })
  const bytes = buffer?.subarray(0, size) ?? Buffer.alloc(0)
  if (!isUtf8(bytes)) throw new HttpError('malformedJson', 'The body is not valid UTF-8.')
  const text = bytes.toString('utf8')
  // The listeners of the request would keep it as long as the request waits.
  buffer = undefined
  // Frees it now: hundreds of bodies may arrive before V8 collects garbage.
  if (isOwn) (bytes.buffer as ArrayBuffer).transfer(0)
  return text
}

/** The rest of the body is not read. */
function tooLarge(): HttpError {
  return new HttpError('bodyTooLarge', errorMessages.bodyTooLarge, { headers: { Connection: 'close' } })
}

/** A client that disconnects is not a fault of the server. */
function disconnected(): HttpError {
  return new HttpError('badRequest', 'The connection closed before the response.')
}

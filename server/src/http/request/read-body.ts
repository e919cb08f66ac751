import { isUtf8 } from 'node:buffer'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Failure } from '../../failure.ts'
import { JsonSyntaxError, parseLosslessJson } from './lossless-json.ts'
import { type BodyLimits, readBytes, tooLarge } from './read-bytes.ts'

const BYTE_ORDER_MARK = 0xfeff
/** No two parts of it can take the same spaces: that would take quadratic time. */
const JSON_MEDIA_TYPE = /^application\/json[ \t]*(?:;[ \t]*(?:charset=(?:utf-8|"utf-8")[ \t]*(?:;[ \t]*)?)?)?$/i

/**
 * Reads the JSON body of a request, checks first: size 413, media type 415, memory 503, text 400. A body that is declared
 * too large is rejected before a byte of it is read, and the connection closed, since the rest of it is not wanted.
 *
 * @throws Failure
 */
export async function readJsonBody(
  request: IncomingMessage,
  response: ServerResponse,
  limits: BodyLimits,
): Promise<unknown> {
  const { limit } = limits
  const length = request.headers['content-length']
  if (length !== undefined && Number(length) > limit) throw tooLarge(limit)
  checkMediaType(request)
  // A caller of HTTP/1.0 would take it for the answer (RFC 9110 section 10.1.1).
  if (request.headers.expect !== undefined && request.httpVersion !== '1.0') response.writeContinue()
  return parseBody(await readBytes(request, limits))
}

function checkMediaType({ headers }: IncomingMessage): void {
  if (!JSON_MEDIA_TYPE.test(headers['content-type'] ?? '')) {
    throw new Failure('unsupportedMediaType', 'Content-Type: must be application/json, in UTF-8', {
      headers: { Accept: 'application/json' },
    })
  }
  const encoding = headers['content-encoding']
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') {
    throw new Failure('unsupportedMediaType', 'Content-Encoding: the body must be sent uncompressed', {
      headers: { 'Accept-Encoding': 'identity' },
    })
  }
}

function parseBody(bytes: Buffer): unknown {
  if (!isUtf8(bytes)) throw new Failure('malformedJson', 'The body is not valid UTF-8.')
  const text = bytes.toString('utf8')
  try {
    return parseLosslessJson(text.charCodeAt(0) === BYTE_ORDER_MARK ? text.slice(1) : text)
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error
    throw new Failure('malformedJson', `The body is not JSON that can be read: ${error.message}.`)
  }
}

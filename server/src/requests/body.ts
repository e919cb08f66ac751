/**
 * How a body is read and parsed. Its integers are exact: `JSON.parse` alone rounds what is above 2^53, and silently takes
 * the last value of a duplicate key. Here a reviver sees how each number is written, and the values are counted in the
 * text first: fewer that are parsed means a duplicate key (docs/decisions/011-json-reader.md).
 */
import { isUtf8 } from 'node:buffer'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { type contract, limits } from '@plant-store/contract'
import { ContractNoBody } from '@ts-rest/core'
import type { TsRestRequest } from '@ts-rest/express'
import { parse as parseContentType } from 'content-type'
import { closing, HttpError } from './errors.ts'
import { isListOf } from './head.ts'

const BYTE_ORDER_MARK = 0xfeff
/** The names of UTF-8 (https://encoding.spec.whatwg.org/#names-and-labels). */
const UTF_8 = /^(?:utf-?8|unicode-1-1-utf-8|unicode(?:11|20)utf8|x-unicode20utf8)$/i

/** More levels are rejected, as RFC 8259 section 9 allows. */
const MAX_DEPTH = 100
/** More values are rejected, keys not counted: each takes `JSON.parse` 0.5 us with a reviver. */
export const MAX_VALUES = 1_000
/** More chunks are rejected, since each takes Node.js microseconds, however short it is. */
const MAX_CHUNKS = 5_000
const TOO_MANY_CHUNKS = `The body has more than ${MAX_CHUNKS} chunks. Send it in fewer.`

/** What may stand between the tokens of JSON. */
const SPACES = ' \t\n\r'
const PLAIN_INTEGER = /^-?\d+$/
/** The end of those messages of `JSON.parse` that do not quote the text. */
const POSITION = / at position (\d+) \(line \d+ column \d+\)$/

/**
 * Reads the JSON body of an operation that takes one. The order of the checks: size 413, media type 415, JSON 400. A
 * body that is declared too large is rejected before it is read.
 */
export async function readBody(request: TsRestRequest<typeof contract>, response: ServerResponse): Promise<void> {
  const { body } = request.tsRestRoute as { body?: unknown }
  if (body === undefined || body === ContractNoBody) return
  if (Number(request.headers['content-length'] ?? 0) > limits.bodyBytes) throw closing('bodyTooLarge')
  checkMediaType(request)
  // A client of HTTP/1.0 would take it for the response (RFC 9110 section 10.1.1).
  if (request.headers.expect !== undefined && request.httpVersion !== '1.0') response.writeContinue()
  const text = await readText(request)
  request.body = parseJson(text.charCodeAt(0) === BYTE_ORDER_MARK ? text.slice(1) : text) as never
}

function checkMediaType({ headers }: IncomingMessage): void {
  const { type, parameters } = parseContentType(headers['content-type'] ?? '')
  const charset = parameters['charset']?.trim() || 'utf-8'
  if (type !== 'application/json' || !UTF_8.test(charset)) {
    throw unsupported('Content-Type: must be application/json, in UTF-8')
  }
  const encoding = headers['content-encoding']
  if (encoding !== undefined && !isListOf('identity', encoding)) {
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
  const bytes = Buffer.allocUnsafe(Number(request.headers['content-length'] ?? limits.bodyBytes))
  let [size, chunks] = [0, 0]

  await new Promise<void>((resolve, reject) => {
    // A client that disconnects is not a fault of the server.
    const fail = () => reject(new HttpError('badRequest', 'The connection closed before the response.'))
    // The listeners would keep the bytes as long as the request waits.
    const stopReading = () => request.off('close', fail).removeAllListeners('data')
    // If the connection has closed already, no event follows, even if the body had arrived.
    if (request.destroyed) fail()
    request
      .on('data', (chunk: Buffer) => {
        if (size + chunk.length > bytes.length || ++chunks > MAX_CHUNKS) {
          stopReading().pause()
          reject(closing('bodyTooLarge', chunks > MAX_CHUNKS ? TOO_MANY_CHUNKS : undefined))
        } else size += chunk.copy(bytes, size)
      })
      // Wait for the end, not for the last byte of a declared length: a response before the end closes the connection.
      .once('end', () => {
        stopReading()
        resolve()
      })
      // A broken connection emits `close` in any case, but `error` only where something listens to it.
      .on('close', fail)
  })
  const body = bytes.subarray(0, size)
  if (!isUtf8(body)) throw malformed('is not valid UTF-8')
  return body.toString()
}

/** `JSON.parse` with a reviver that sees how a value is written, which TypeScript does not know yet. */
const parseSource = JSON.parse as (
  text: string,
  reviver: (key: string, value: unknown, context: { source: string }) => unknown,
) => unknown

/**
 * Parses JSON as `JSON.parse` does, but exactly: an integer that is not safe as a `number` becomes a `bigint`, and a
 * fraction that would be rounded to an integer becomes NaN.
 *
 * @throws {HttpError} `malformedJson` if the text is not JSON, has a duplicate key, or exceeds {@link MAX_DEPTH} or
 *   {@link MAX_VALUES}
 */
function parseJson(text: string): unknown {
  const written = countValues(text)
  let parsed = 0
  try {
    const value = parseSource(text, (_key, value, { source }) => {
      parsed++
      return typeof value === 'number' ? toExact(value, source) : value
    })
    // Of the values of a duplicate key, only the last one is left.
    if (parsed === written) return value
  } catch (error) {
    const [, position] = POSITION.exec((error as Error).message) ?? []
    throw malformed(`is not valid JSON${position ? ` at character ${Number(position) + 1}` : ''}`)
  }
  throw malformed('has a duplicate key')
}

/** The message never quotes the text. */
function malformed(problem: string): HttpError {
  return new HttpError('malformedJson', `The body ${problem}.`)
}

/**
 * Counts the values of a text if it is JSON; if not, at least those that `JSON.parse` reads before it fails: the first of
 * each object or list, and one after each comma.
 */
function countValues(text: string): number {
  let [depth, count, isOpened] = [0, 1, false]
  for (let index = 0; index < text.length; index++) {
    const character = text.charAt(index)
    if (SPACES.includes(character)) continue
    const isClosed = character === ']' || character === '}'
    if (character === ',' || (isOpened && !isClosed)) count++
    isOpened = character === '[' || character === '{'
    if (isOpened) depth++
    if (isClosed) depth--
    if (depth > MAX_DEPTH) throw malformed(`is nested deeper than ${MAX_DEPTH} levels`)
    if (count > MAX_VALUES) throw malformed(`has more than ${MAX_VALUES} values`)
    if (character === '"') index = findEnd(text, index)
  }
  return count
}

/** Finds the quotation mark that ends a string. */
function findEnd(text: string, begin: number): number {
  let end = begin + 1
  while (end < text.length && text[end] !== '"') end += text[end] === '\\' ? 2 : 1
  return end
}

/**
 * Returns the value of a number that is written like this: NaN for what is not an integer but would be rounded to one, and
 * for an unsafe integer that is not written in plain digits.
 */
function toExact(value: number, source: string): number | bigint {
  if (!Number.isInteger(value)) return value
  if (PLAIN_INTEGER.test(source)) return Number.isSafeInteger(value) ? value : BigInt(source)
  return Number.isSafeInteger(value) && haveSameDigits(source, value) ? value : Number.NaN
}

/** Whether a number is written with the digits of a value, and zeros around them. */
function haveSameDigits(source: string, value: number): boolean {
  const [significand = ''] = source.split(/e/i)
  const written = significand.replace(/\D/g, '').replace(/^0+/, '')
  const digits = String(Math.abs(value)).replace(/0+$/, '')
  return written.startsWith(digits) && /^0*$/.test(written.slice(digits.length))
}

/**
 * How a body is read and parsed. Its integers are exact: `JSON.parse` alone rounds what is above 2^53, and silently takes
 * the last value of a duplicate key. Here a reviver sees how each number is written, and the values are counted in the
 * text first: fewer that are parsed means a duplicate key (docs/decisions/011-json-reader.md).
 */
import { isUtf8 } from 'node:buffer'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { type contract, errorMessages, limits } from '@plant-store/contract'
import { ContractNoBody } from '@ts-rest/core'
import type { TsRestRequest } from '@ts-rest/express'
import { parse as parseContentType } from 'content-type'
import { HttpError } from './errors.ts'
import { isListOf } from './malformed-requests.ts'

/** How much of a charset an error names: those that IANA registers are no longer (RFC 2978 section 2.3). */
const MAX_CHARSET_LENGTH = 40
const BYTE_ORDER_MARK = 0xfeff
/** The names of UTF-8 (https://encoding.spec.whatwg.org/#names-and-labels). */
const UTF_8 = /^(?:utf-?8|unicode-1-1-utf-8|unicode(?:11|20)utf8|x-unicode20utf8)$/i

/** More levels are rejected, as RFC 8259 section 9 allows. */
const MAX_DEPTH = 100
/** More values are rejected, keys not counted: each takes `JSON.parse` 0.5 us with a reviver. */
export const MAX_VALUES = 1_000

/** Strings, marks, and what is between them: numbers, `true`, `false` and `null`. */
const TOKENS = /"(?:[^"\\]|\\.)*"?|[[\]{},:]|[^ \t\n\r[\]{},:"]+/gs
/** The integer, the fraction and the exponent of a number. */
const NUMBER = /^-?(\d+)(?:\.(\d+))?(?:e(.+))?$/i
/** Two numbers of at most so many characters, other than 0, are never the same `number`. */
const EXACT_LENGTH = 15
/** No int64 is as large, so larger ones need not be exact. */
const TOO_LARGE = 10 ** 19
/** The end of those messages of `JSON.parse` that do not quote the text. */
const POSITION = / at position (\d+) \(line \d+ column \d+\)$/

/** Longer texts may have more than {@link MAX_VALUES}. */
const MAX_PLAIN = 1_000
/** What a plain body lacks: numbers that may not be exact, with many digits, a fraction or an exponent, and arrays. */
const NOT_PLAIN = /\d{16}|\d[.Ee]|\[/
/** The end of each key. Other texts that look like it only make a body less plain. */
const KEY_END = /"\s*:/g

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
  if (!isListOf('identity', headers['content-encoding'])) {
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
  if (!isUtf8(bytes)) throw malformed('is not valid UTF-8')
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
export function parseJson(text: string): unknown {
  return parsePlain(text) ?? parseWithSource(text)
}

/**
 * Parses what most bodies are, in a third of the time: a short object of texts and small integers, with as many keys as
 * are written, and no object within it that has any. Undefined: it is something else.
 */
function parsePlain(text: string): unknown {
  if (text.length > MAX_PLAIN || NOT_PLAIN.test(text)) return undefined
  try {
    const value: object = JSON.parse(text)
    return Object.keys(value).length === text.match(KEY_END)?.length ? value : undefined
  } catch {
    return undefined
  }
}

function parseWithSource(text: string): unknown {
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

/** Counts the values of a text if it is JSON; if not, at least those that `JSON.parse` reads before it fails. */
function countValues(text: string): number {
  let depth = 0
  let count = 0
  let isAfterString = false
  for (const [token] of text.matchAll(TOKENS)) {
    const [first] = token
    if (first === '[' || first === '{') depth++
    if (first === ']' || first === '}') depth--
    else if (first === ':' && isAfterString) {
      // The string was a key.
      count--
    } else if (first !== ',' && first !== ':') count++
    isAfterString = first === '"'
    if (depth > MAX_DEPTH) throw malformed(`is nested deeper than ${MAX_DEPTH} levels`)
    // The last one may be a key.
    if (count > MAX_VALUES + 1) break
  }
  if (count > MAX_VALUES) throw malformed(`has more than ${MAX_VALUES} values`)
  return count
}

/** Returns the value of a number that is written like this, as exactly as {@link parseJson} does. */
function toExact(value: number, source: string): number | bigint {
  if (!Number.isInteger(value) || Math.abs(value) >= TOO_LARGE) return value
  if (source.length <= EXACT_LENGTH && value !== 0 && Number.isSafeInteger(value)) return value
  const [, whole = '', fraction = '', exponent] = NUMBER.exec(source) ?? []
  const places = value === 0 ? 0 : whole.length + Number(exponent)
  const digits = whole + fraction
  const point = exponent === undefined ? whole.length : places
  const [integer, rest] = [digits.slice(0, point).padEnd(point, '0'), digits.slice(point)]
  if (/[1-9]/.test(rest)) return Number.NaN
  if (Number.isSafeInteger(value)) return value
  return value < 0 ? -BigInt(integer) : BigInt(integer)
}

import { ApiError, type CallInfo, MalformedResponseError, type ResponseHead, type ResponseHeaders } from '../errors.ts'
import type { ErrorBody } from '../generated/types.ts'
import type { FetchResponse } from '../options.ts'
import { isObject, observe, orUndefined } from '../values.ts'
import type { Route } from './request.ts'

/** Reads the head of a response. */
export function readHead({ status, headers }: Pick<FetchResponse, 'status' | 'headers'>): ResponseHead {
  return {
    status,
    headers,
    requestId: headers.get('x-request-id') ?? undefined,
    retryAfterMs: readRetryAfter(headers),
  }
}

/**
 * Parses `Retry-After`, seconds or a date, into milliseconds from now. A date is compared with that of the response,
 * since the clock of the app may be wrong; with that clock where a page of another origin cannot read `Date`.
 */
function readRetryAfter(headers: ResponseHeaders): number | undefined {
  const value = headers.get('retry-after') ?? ''
  const now = Date.parse(headers.get('date') ?? '') || Date.now()
  const wait = /^\d+$/.test(value) ? Number(value) * 1000 : Date.parse(value) - now
  return wait >= 0 ? wait : wait < 0 ? 0 : undefined
}

/** Reads the bytes of a stream. Twice as fast as `for await`, which not every browser has. */
interface Reader {
  read(): Promise<{ readonly value?: Uint8Array }>
  cancel(): Promise<void>
}

/**
 * Reads the text of a response, up to a limit: a small response can decompress to gigabytes.
 *
 * @param limit in bytes. Where `fetch` has no streams, as in React Native, all of it was read,
 *   and its characters count.
 * @throws {MalformedResponseError} if the response is larger, or that of a redirect which `fetch` has followed: it may
 *   come from another origin. The rest is not read, and its connection is closed.
 */
export async function readText(
  response: FetchResponse,
  limit: number,
  head: ResponseHead,
  call: CallInfo,
): Promise<string> {
  // jsdom has none, nor streams.
  const decoder = globalThis.TextDecoder && new TextDecoder()
  const reader = decoder && (response.body as { getReader?(): Reader } | undefined)?.getReader?.()
  let text = reader ? '' : await response.text()
  // Runtimes may write the host in lower case, and escape more of a query.
  const [from = '', to = ''] = [call.url, response.url || call.url].map((url) => url.replace(/\?.*/s, '').toLowerCase())
  const isFollowed = response.redirected ?? from !== to
  let size = text.length
  while (size <= limit && !isFollowed) {
    const value = (await reader?.read())?.value
    if (!value) return text + (decoder?.decode() ?? '')
    size += value.length
    text += decoder?.decode(value, { stream: true })
  }
  observe(() => reader?.cancel())
  const tooLarge = `more than ${limit} bytes; raise maxResponseBytes`
  const reason = isFollowed ? `a redirect to ${response.url}, which fetch has followed` : tooLarge
  throw new MalformedResponseError(reason, head, call, { retryable: false })
}

/** What a call expects of its response. */
export interface Returns extends Pick<Route, 'status' | 'returns' | 'parse'> {
  /** All headers of the request but that of the token, names in lower case. With `if-none-match`, a 304 is expected too. */
  readonly headers: Readonly<Record<string, string>>
}

/**
 * Reads the data of a response. Its fields are not checked, so that a later service may add some.
 *
 * @throws {ApiError} if the service responded with an error
 * @throws {MalformedResponseError} if the response is not the service's
 */
export function readData(text: string, head: ResponseHead, call: CallInfo & Returns): unknown {
  const { status, headers } = head
  const { returns, parse = JSON.parse } = call
  if (status === 304 && call.headers['if-none-match']) return undefined
  if (status === call.status && !returns) return undefined
  const data = orUndefined(() => parse(text))
  if (status === call.status && (returns === 'array' ? Array.isArray(data) : isObject(data))) return data
  if (status >= 400 && isObject(data) && Number.isInteger(data['error']) && typeof data['message'] === 'string') {
    throw new ApiError(data as unknown as ErrorBody, head, call)
  }
  const type = headers.get('content-type') ?? 'no content type'
  const isJson = type.includes('json')
  let reason = isJson ? 'malformed JSON' : `${type} instead of JSON`
  if (/^[03]/.test(`${status}`)) reason = `a redirect to ${headers.get('location')}, which is not followed`
  // JSON of a client error may have personal data, which does not belong in a message.
  const start = status >= 500 || (!isJson && !data) ? text.slice(0, 2000).replace(/\s+/g, ' ').trim().slice(0, 200) : ''
  // A proxy that speaks HTTP/1.0 ends a response that breaks off like one that is complete.
  const isCut = status === call.status && isJson && data === undefined
  const fields = { ...(start && { text: start }), ...(isCut && { retryable: call.idempotent !== false }) }
  throw new MalformedResponseError(reason, head, call, fields)
}

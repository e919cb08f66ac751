import type { Call } from '../call.ts'
import { ApiError, type CallInfo, MalformedResponseError, type ResponseHead, type ResponseHeaders } from '../errors.ts'
import type { ErrorBody } from '../generated/types.ts'
import type { FetchResponse } from '../options.ts'
import { isObject, observe, orUndefined } from '../values.ts'

/**
 * Reads the head of a response. Its status is 0 if `fetch` has followed a redirect, which hides that of the service.
 *
 * @param sent the URL of the request
 */
export function readHead({ status, headers, redirected, url }: Omit<FetchResponse, 'text'>, sent = ''): ResponseHead {
  // React Native's has only the last URL. Runtimes may write the host in lower case, and escape more of a query.
  const start = (text: string) => text.toLowerCase().split('?')[0]
  const isFollowed = redirected ?? start(url || sent) !== start(sent)
  return {
    status: isFollowed ? 0 : status,
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

/**
 * Reads the text of a response, up to a limit: a small response can decompress to gigabytes.
 *
 * @param limit in bytes. Where `fetch` has no streams, as in React Native, all of it was read,
 *   and its characters count.
 * @throws {MalformedResponseError} if the response is larger. The rest is not read, and its connection is closed.
 */
export async function readText(response: FetchResponse, limit: number, head: ResponseHead, call: CallInfo) {
  // jsdom has none, nor streams.
  const decoder = globalThis.TextDecoder && new TextDecoder()
  // Twice as fast as `for await`, which not every browser has.
  const reader = decoder && (response.body as ReadableStream<Uint8Array> | undefined)?.getReader?.()
  let text = reader ? '' : await response.text()
  let size = text.length
  while (size <= limit) {
    const value = (await reader?.read())?.value
    if (!value) return text + (decoder?.decode() ?? '')
    size += value.length
    text += decoder?.decode(value, { stream: true })
  }
  observe(() => reader?.cancel())
  throw new MalformedResponseError(`more than ${limit} bytes; raise maxResponseBytes`, head, call)
}

/**
 * Reads the data of a response. Its fields are not checked, so that a later service may add some.
 *
 * @throws {ApiError} if the service responded with an error
 * @throws {MalformedResponseError} if the response is not the service's
 */
export function readData(text: string, head: ResponseHead, call: Call, url: string | undefined): unknown {
  const { status, headers } = head
  const { status: success, returns, parse = JSON.parse } = call.route
  if (status === 304 && call.isConditional) return undefined
  if (status === success && !returns) return undefined
  const data = orUndefined(() => parse(text))
  if (status === success && (returns === 'array' ? Array.isArray(data) : isObject(data))) return data
  if (status >= 400 && isObject(data) && Number.isInteger(data['error']) && typeof data['message'] === 'string') {
    throw new ApiError(data as unknown as ErrorBody, head, call)
  }
  const type = headers.get('content-type') ?? 'no content type'
  const isJson = type.includes('json')
  let reason = isJson ? 'malformed JSON' : `${type} instead of JSON`
  if (/^(0|3(?!04))/.test(`${status}`)) reason = `a redirect to ${headers.get('location') ?? url}, which is not allowed`
  // JSON of a client error may have personal data, which does not belong in a message.
  const start = status >= 500 || (!isJson && !data) ? text.slice(0, 2000).replace(/\s+/g, ' ').trim().slice(0, 200) : ''
  // A proxy that speaks HTTP/1.0 ends a response that breaks off like one that is complete.
  const isCut = status === success && isJson && data === undefined
  throw new MalformedResponseError(reason, head, call, start, isCut)
}

/** The response of a successful call. */
export interface CallResponse {
  readonly head: ResponseHead
  readonly call: CallInfo
  /** The data of the body; undefined if the operation has none, and after a 304. */
  readonly data: unknown
}

/** Rejects the 304 of a caller that has the data, and asks with a method that returns nothing else. */
export function requireData(response: CallResponse): CallResponse {
  const { head, call } = response
  if (head.status !== 304) return response
  throw new MalformedResponseError('a 304 for your If-None-Match, which raw and safe return', head, call)
}

/**
 * Returns the cursor of a link (RFC 8288); undefined if there is none.
 *
 * Its target is read as text, since React Native's `URL` does not parse a query.
 *
 * @param relation `next`, or `end` for what follows this page, now or later
 * @param earlier the cursors that it must not have: of this page, and of those before it
 * @throws {MalformedResponseError} if the link has no cursor, or one of these
 */
export function readCursor({ head, call }: CallResponse, relation: string, earlier?: ReadonlySet<unknown>) {
  const link = head.headers.get('link') ?? ''
  // No two parts match the same characters, which would take quadratic time.
  const pattern = new RegExp(`<([^<>]*)>[^<]*;\\s*rel\\s*=([^,;]*[\\s"])?${relation}(?![^\\s",;])`, 'i')
  const [, target] = pattern.exec(link) ?? []
  if (target === undefined) return undefined
  const [, text = ''] = /^[^#]*?[?&]cursor=([^&#]*)/.exec(target) ?? []
  const cursor = orUndefined(() => decodeURIComponent(text.replaceAll('+', ' ')))
  if (cursor && !earlier?.has(cursor)) return cursor
  throw new MalformedResponseError(`an invalid link: ${link}`, head, call)
}

import { ApiError, type FailedCall, MalformedResponseError, type ResponseHead } from '../errors.ts'
import type { FetchResponse } from '../fetch.ts'
import type { ErrorBody } from '../generated/types.ts'
import type { Route } from './request.ts'
import { isObject, orUndefined } from './values.ts'

/** Reads the head of a response. */
export function readHead({ status, headers }: Pick<FetchResponse, 'status' | 'headers'>): ResponseHead {
  return {
    status,
    headers,
    requestId: headers.get('x-request-id') ?? undefined,
    retryAfterMs: readRetryAfter(headers.get('retry-after') ?? ''),
  }
}

/** Parses `Retry-After`, seconds or a date, into milliseconds from now. */
function readRetryAfter(value: string): number | undefined {
  const wait = /^\d+$/.test(value) ? Number(value) * 1000 : Date.parse(value) - Date.now()
  return wait >= 0 ? wait : wait < 0 ? 0 : undefined
}

/**
 * Reads the text of a response, up to a limit: a small response can decompress to gigabytes.
 *
 * @param limit in bytes. Where `fetch` has no streams, as in React Native, all of it was read, and its characters count.
 * @throws MalformedResponseError if the response is larger. The rest is not read, and its connection is closed.
 */
export async function readText(
  response: FetchResponse,
  limit: number,
  head: ResponseHead,
  call: FailedCall,
): Promise<string> {
  let text = ''
  let size = 0
  // jsdom has none, nor streams.
  const decoder = globalThis.TextDecoder && new TextDecoder()
  const body = response.body as AsyncIterable<Uint8Array | string> | undefined
  // A loop that throws cancels the stream.
  for await (const chunk of decoder && body?.[Symbol.asyncIterator] ? body : [await response.text()]) {
    size += chunk.length
    if (size > limit) throw new MalformedResponseError(`more than ${limit} bytes; raise maxResponseBytes`, head, call)
    text += typeof chunk === 'string' ? chunk : decoder?.decode(chunk, { stream: true })
  }
  return text + (decoder?.decode() ?? '')
}

/**
 * Reads the data of a response. Its fields are not checked, so that a later service may add some.
 *
 * @throws ApiError if the service responded with an error, MalformedResponseError if the response is not the service's
 */
export function readData(route: Route, text: string, head: ResponseHead, call: FailedCall): unknown {
  const { status, headers } = head
  if (status === route.status && !route.returns) return undefined
  const parse = (status === route.status && route.parse) || JSON.parse
  const data = orUndefined(() => parse(text))
  if (status === route.status && (route.returns === 'array' ? Array.isArray(data) : isObject(data))) return data
  if (status >= 400 && isObject(data) && Number.isInteger(data['error']) && typeof data['message'] === 'string') {
    throw new ApiError(data as unknown as ErrorBody, head, call)
  }
  const type = headers.get('content-type') ?? 'no content type'
  const isJson = type.includes('json')
  let reason = isJson ? 'malformed JSON' : `${type} instead of JSON`
  if (/^[03]/.test(`${status}`)) reason = `a redirect to ${headers.get('location')}, which is not followed`
  // JSON of a client error may have personal data, which does not belong in a message.
  const start = status >= 500 || (!isJson && !data) ? text.replace(/\s+/g, ' ').trim().slice(0, 200) : ''
  throw new MalformedResponseError(reason, head, call, start || undefined)
}

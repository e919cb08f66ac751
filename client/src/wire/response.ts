import { ApiError, type FailedCall, MalformedResponseError, type ResponseHead } from '../errors.ts'
import type { ResponseHeaders } from '../fetch.ts'
import type { Route } from './request.ts'
import { isObject, orUndefined } from './values.ts'

/** Reads the head of a response. */
export function readHead(status: number, headers: ResponseHeaders): ResponseHead {
  const requestId = headers.get('x-request-id') ?? undefined
  return { status, headers, requestId, retryAfterMs: readRetryAfter(headers.get('retry-after') ?? '') }
}

/** Parses `Retry-After`, seconds or a date, into milliseconds from now. */
function readRetryAfter(value: string): number | undefined {
  const wait = /^\d+$/.test(value) ? Number(value) * 1000 : Date.parse(value) - Date.now()
  return wait >= 0 ? wait : wait < 0 ? 0 : undefined
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
  const isExpected = route.returns === 'array' ? Array.isArray(data) : isObject(data)
  if (status === route.status && isExpected) return data
  if (status >= 400 && isObject(data) && Number.isInteger(data['error']) && typeof data['message'] === 'string') {
    throw new ApiError({ error: data['error'] as number, message: data['message'] }, head, call)
  }
  const type = headers.get('content-type') ?? 'no content type'
  const isJson = type.includes('json')
  const isRedirect = status < 200 || (status >= 300 && status < 400)
  const content = isJson ? 'malformed JSON' : `${type} instead of JSON`
  const reason = isRedirect ? `a redirect to ${headers.get('location')}, which is not followed` : content
  // JSON of a client error may have personal data, which does not belong in a message.
  const start = status >= 500 || (!isJson && !data) ? text.replace(/\s+/g, ' ').trim().slice(0, 200) : ''
  throw new MalformedResponseError(reason, head, call, start || undefined)
}

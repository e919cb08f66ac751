import { ApiError, type FailedCall, MalformedResponseError, type PlantStoreError } from './errors.ts'
import type { FetchResponse } from './fetch.ts'
import { nextLink } from './link.ts'
import type { RawPage } from './results.ts'
import { readRetryAfter } from './retry.ts'
import type { Route } from './route.ts'

/**
 * Reads an answer: its data, or the error that it stands for. Strict in what makes it an answer of the service, lenient
 * in what is in it, so that a newer service may add fields.
 *
 * @param text the whole body
 */
export function readAnswer(
  route: Route,
  { status, headers }: FetchResponse,
  text: string,
  call: FailedCall,
): RawPage<unknown> | PlantStoreError {
  const requestId = headers.get('x-request-id') ?? undefined
  const retryAfterMs = readRetryAfter(headers.get('retry-after'))
  const answer = { status, headers, requestId, retryAfterMs }
  const malformed = (reason: string) => new MalformedResponseError(reason, answer, call)

  // A browser shows a redirect that is not followed as status 0.
  if (status === 0 || (status >= 300 && status < 400)) {
    return malformed('with a redirect, which is not followed, since the token would go along; mend the base URL')
  }
  const data = parse(text)
  if (status >= 400) {
    if (!isErrorBody(data)) return malformed('with a body that is no error of the plant store')
    const kind = route.declaredErrors.includes(status) ? 'api' : 'undeclared'
    return new ApiError(kind, data.error, data.message, answer, call)
  }
  if (status !== 200) return malformed('where 200 was expected')
  if (data === undefined) return malformed('with a body that is not whole JSON')
  if (Array.isArray(data) !== (route.answer === 'list') || typeof data !== 'object' || data === null) {
    return malformed(`with JSON that is no ${route.answer}`)
  }
  try {
    return {
      data,
      status,
      headers,
      requestId,
      attempts: call.attempts,
      nextCursor: readNextCursor(headers.get('link'), call),
    }
  } catch {
    return malformed('with a link to a next page that is of another origin or none at all')
  }
}

/** @throws where the link is not of this service: the token must not go elsewhere */
function readNextCursor(header: string | null, { url }: FailedCall): string | undefined {
  const next = nextLink(header, url)
  if (!next) return undefined
  const cursor = next.searchParams.get('cursor')
  if (next.origin !== new URL(url).origin || !cursor) throw new TypeError('no next page')
  return cursor
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function isErrorBody(value: unknown): value is { error: number; message: string } {
  const { error, message } = (value ?? {}) as Record<string, unknown>
  return typeof error === 'number' && typeof message === 'string'
}

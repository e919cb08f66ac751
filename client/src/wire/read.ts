import { ApiError, type Failure, MalformedResponseError, type ResponseHead, redact, type SentCall } from '../errors.ts'
import type { ResponseHeaders } from '../fetch.ts'
import { type FieldsWriter, isObject, orUndefined, type Writer } from './write.ts'

/**
 * Reads the content of a response.
 *
 * @throws Error if it does not have the form that the contract declares
 */
export type Reader = (text: string) => unknown

/** Creates a reader of JSON that is of one kind. Its fields are not checked, so that a later service may add some. */
export function readIf(isExpected: (value: unknown) => boolean, parse: Reader): Reader {
  return (text) => {
    const value = parse(text)
    if (isExpected(value)) return value
    throw new TypeError()
  }
}

/** Reads a response without content. */
export const readNothing: Reader = () => undefined

/** Reads the head of a response. */
export function readHead(status: number, headers: ResponseHeaders, call: SentCall): ResponseHead {
  const retryAfterMs = readRetryAfter(headers.get('retry-after') ?? '')
  return { status, headers, requestId: redact(headers.get('x-request-id') ?? '', call) || undefined, retryAfterMs }
}

/** Parses `Retry-After`, seconds or a date, into milliseconds from now. */
function readRetryAfter(value: string): number | undefined {
  const wait = /^\d+$/.test(value) ? Number(value) * 1000 : Date.parse(value) - Date.now()
  return wait >= 0 ? wait : wait < 0 ? 0 : undefined
}

/** How to send an operation, and how the service may respond. */
export interface Route {
  readonly method: string
  /** The path, with its parameters as `{name}`. */
  readonly path: string
  readonly pathParameters?: FieldsWriter
  readonly body?: Writer
  readonly query?: FieldsWriter
  readonly headers?: FieldsWriter
  /** The reader of the content of each success status that the contract declares. */
  readonly responses: Readonly<Record<number, Reader>>
  readonly paged?: true
  /** Whether it can be retried after a failure. Default: if the failure is temporary. */
  readonly canRetry?: (failure: Failure) => boolean
  /** The error statuses that the contract declares. */
  readonly declaredErrors: readonly number[]
}

/**
 * Reads the data of a response. Its texts are redacted, because a proxy's error page may show the request.
 *
 * @throws ApiError if the service responded with an error, MalformedResponseError if the response is not the service's
 */
export function readData(route: Route, text: string, head: ResponseHead, call: SentCall): unknown {
  const { status, headers } = head
  const read = route.responses[status]
  if (read) {
    try {
      return read(text)
    } catch {
      // Explained below.
    }
  }
  const data = orUndefined(() => JSON.parse(text))
  if (status >= 400 && isObject(data) && Number.isInteger(data['error']) && typeof data['message'] === 'string') {
    const kind = route.declaredErrors.includes(status) ? 'api' : 'undeclared'
    const body = { error: data['error'] as number, message: redact(data['message'], call) }
    throw new ApiError(kind, body, head, call)
  }
  const type = headers.get('content-type') ?? 'no content type'
  const target = headers.get('location')
  const isOther = !type.includes('json')
  const reason =
    status < 200 || (status >= 300 && status < 400)
      ? `a redirect${target ? ` to ${redact(target, call)}` : ''}, which is not followed`
      : isOther
        ? `${redact(type, call)} instead of JSON`
        : data === undefined
          ? 'truncated or malformed JSON'
          : 'JSON of an unexpected shape'
  // JSON may have personal data, which does not belong in a message.
  const page = isOther && data === undefined && redact(text, call).replace(/\s+/g, ' ').trim().slice(0, 200)
  throw new MalformedResponseError(`with ${reason}`, head, call, page || undefined)
}

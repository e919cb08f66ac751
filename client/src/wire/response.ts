import { ApiError, type FailedAnswer, type FailedCall, MalformedResponseError } from '../errors.ts'
import type { Route } from './route.ts'

/** An answer that has arrived whole. */
export interface Answer extends FailedAnswer {
  readonly text: string
}

/**
 * Reads the data out of an answer.
 *
 * @param hide takes the token out of a text: a proxy's error page may show the request
 * @throws ApiError where the service refused or failed, MalformedResponseError where this is no answer of the service
 */
export function readAnswer(answer: Answer, route: Route, call: FailedCall, hide: (text: string) => string): unknown {
  const { text, ...failed } = answer
  const { status } = answer
  const data = parseJson(text)
  if (status >= 200 && status < 300) {
    if (isObject(data) && Array.isArray(data) === (route.answer === 'list')) return data
  } else if (isObject(data) && Number.isInteger(data['error']) && typeof data['message'] === 'string') {
    const kind = route.declaredErrors.includes(status) ? 'api' : 'undeclared'
    const body = { error: Number(data['error']), message: hide(data['message']) }
    throw new ApiError(kind, body, failed, call)
  }
  throw new MalformedResponseError(hide(explain(answer, data)), failed, call)
}

function explain({ status, headers }: Answer, data: unknown): string {
  if (status < 200 || (status >= 300 && status < 400)) {
    const target = headers.get('location')
    return `and redirects${target ? ` to ${target}` : ''}, which is not followed, so that the token goes nowhere else`
  }
  const contentType = headers.get('content-type') ?? 'no content type'
  if (!contentType.includes('json')) return `with ${contentType} instead of JSON`
  return data === undefined ? 'with JSON that is cut off or malformed' : 'with JSON of another shape'
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}

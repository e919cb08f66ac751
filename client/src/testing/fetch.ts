import type { FetchResponse } from '../fetch.ts'
import { reject } from '../wire/write.ts'
import type { Fault } from './types.ts'

/** A response of the fake, before a fault is applied. */
export interface FakeResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

const FAULTS = ['delay', 'connectionError', 'status', 'body', 'headers', 'cutBodyAfter']
/** The statuses of responses without content, with which `new Response` rejects a body. */
const NO_CONTENT = [204, 205, 304]

/**
 * Checks that every name is known: what a test asks for is done, or is an error.
 *
 * @throws RequestError if a name is unknown
 */
export function checkNames(given: object, known: readonly string[]): void {
  for (const name of Object.keys(given)) {
    if (!known.includes(name)) reject(name, `is not an option; use ${known.join(', ')}`)
  }
}

/**
 * Checks a fault.
 *
 * @throws RequestError if it has an unknown name or an invalid value
 */
export function checkFault(fault: Fault, times: number): void {
  checkNames(fault, FAULTS)
  const { status = 200, delay = 0, cutBodyAfter = 0 } = fault
  if (!Number.isInteger(times) || times < 1) reject('times', 'must be a positive integer')
  if (!Number.isInteger(status) || status < 200 || status > 599) reject('status', 'must be an integer from 200 to 599')
  if (!(delay >= 0)) reject('delay', 'must be a non-negative number')
  if (!Number.isInteger(cutBodyAfter) || cutBodyAfter < 0) reject('cutBodyAfter', 'must be a non-negative integer')
}

/** What `fetch` gets. */
export interface ReceivedRequest {
  readonly method: string
  readonly url: string
  readonly headers: Headers
  readonly body: string
  readonly signal: AbortSignal | undefined
}

/** Reads the arguments of `fetch`: those of the client, and any others where the runtime has `Request`. */
export async function readRequest(url: string, options: RequestInit = {}): Promise<ReceivedRequest> {
  const { signal, ...init } = options
  if (typeof Request === 'function') {
    // Without the signal, because a Request of Node.js rejects the AbortSignal of jsdom. MSW passes a Request as options,
    // which has no properties of its own.
    const request = new Request(options instanceof Request ? options : url, init)
    const { method, headers } = request
    return { method, url: request.url, headers, body: await request.text(), signal: signal ?? request.signal }
  }
  const { method = 'GET', headers = {}, body } = init
  return {
    method,
    url,
    headers: new Headers(headers as Record<string, string>),
    body: String(body ?? ''),
    signal: signal ?? undefined,
  }
}

/** Waits for the delay of a fault. Rejects, like `fetch`, if the request is aborted. */
export async function wait({ delay = 0 }: Fault, signal: AbortSignal | undefined): Promise<void> {
  signal?.throwIfAborted()
  if (delay === 0) return
  await new Promise<void>((resolve, rejectWith) => {
    const timer = setTimeout(resolve, delay)
    signal?.addEventListener('abort', () => {
      clearTimeout(timer)
      rejectWith(signal.reason)
    })
  })
}

/** Applies a fault to a response. */
export function toResponse(response: FakeResponse, { body = response.body, ...fault }: Fault): FetchResponse {
  const { cutBodyAfter } = fault
  const init = { status: response.status, headers: { ...response.headers, ...fault.headers } }
  const isEmpty = NO_CONTENT.includes(response.status)
  const isCut = cutBodyAfter !== undefined && !isEmpty
  if (typeof Response === 'undefined') return plainResponse(isEmpty ? '' : body, init, isCut)
  if (!isCut) return new Response(isEmpty ? null : body, init)
  const bytes = new TextEncoder().encode(body.slice(0, cutBodyAfter))
  const stream = new ReadableStream({
    start: (controller) => controller.enqueue(bytes),
    pull: (controller) => controller.error(new TypeError('terminated')),
  })
  return new Response(stream, init)
}

/** The part of a `Response` that the client uses, for jsdom, which has no `Response`. */
function plainResponse(
  body: string,
  { status, headers }: { status: number; headers: Record<string, string> },
  isCut: boolean,
): FetchResponse {
  const text = async (): Promise<string> => {
    if (isCut) throw new TypeError('terminated')
    return body
  }
  return { status, headers: new Headers(headers), text }
}

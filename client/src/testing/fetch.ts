import type { FetchResponse } from '../fetch.ts'
import type { Fault } from './fault.ts'
import type { FakeResponse } from './response.ts'

const VALID_REQUEST_ID = /^[\w.-]{1,64}$/
/** The statuses of responses without content, with which `new Response` rejects a body. */
const NO_CONTENT = [204, 205, 304]

/** A request, without its body. */
export interface RequestHead {
  readonly method: string
  readonly url: string
  readonly headers: Headers
}

/** What `fetch` gets. */
export interface ReceivedRequest {
  readonly request: RequestHead
  /** The text of the body; empty if there is none. */
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
    return { request, body: await request.text(), signal: signal ?? request.signal }
  }
  const { method = 'GET', headers = {}, body } = init
  const request = { method, url, headers: new Headers(headers as Record<string, string>) }
  return { request, body: String(body ?? ''), signal: signal ?? undefined }
}

/** Waits for the delay of a fault. Rejects, like `fetch`, if the request is aborted. */
export async function wait({ delay = 0 }: Fault, signal: AbortSignal | undefined): Promise<void> {
  signal?.throwIfAborted()
  if (delay === 0) return
  await new Promise<void>((resolve, reject) => {
    const timer = setTimeout(resolve, delay)
    signal?.addEventListener('abort', () => {
      clearTimeout(timer)
      reject(signal.reason)
    })
  })
}

/** Adapts a response to its request: `HEAD` gets no body, and a valid request id is returned. */
export function adaptResponse({ status, headers, body }: FakeResponse, request: RequestHead): FakeResponse {
  const id = request.headers.get('x-request-id') ?? ''
  return {
    status,
    headers: VALID_REQUEST_ID.test(id) ? { ...headers, 'x-request-id': id } : headers,
    body: request.method === 'HEAD' ? '' : body,
  }
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

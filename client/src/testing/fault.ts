import type { FetchResponse } from '../fetch.ts'
import type { FakeResponse } from './response.ts'

/** What goes wrong with a request. Without any of the fields, nothing does. */
export interface Fault {
  /** The delay of the response in milliseconds. Default: 0. */
  readonly delay?: number | undefined
  /** The request never arrives: `fetch` rejects, as if the connection was refused. */
  readonly connectionError?: true | undefined
  /** The store does nothing and responds with this status and an `Error` body. */
  readonly status?: number | undefined
  /** The body of the response, such as a proxy's HTML page. */
  readonly body?: string | undefined
  /** Additional response headers, such as `retry-after`. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** The store handles the request, but the connection breaks after this many characters of the response body. */
  readonly cutBodyAfter?: number | undefined
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

/** Applies a fault to a response. */
export function toResponse(response: FakeResponse, { body = response.body, ...fault }: Fault): FetchResponse {
  const { cutBodyAfter } = fault
  const init = { status: response.status, headers: { ...response.headers, ...fault.headers } }
  const isCut = cutBodyAfter !== undefined
  if (typeof Response === 'undefined') return plainResponse(body, init, isCut)
  const hasNoBody = response.status === 204 || response.status === 304
  if (!isCut) return new Response(hasNoBody ? null : body, init)
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

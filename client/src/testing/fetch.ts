import type { FetchInit, FetchResponse, Signal } from '../fetch.ts'
import { readHeaders } from '../wire/request.ts'
import { reject, requireKnown } from '../wire/write.ts'

// The types here are those that every app has: not `Headers`, for example.

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

/** A request that the fake received. */
export interface FakeRequest {
  readonly method: string
  readonly url: string
  /** Names in lower case, without `authorization`. */
  readonly headers: Readonly<Record<string, string>>
  /** The text of the body; empty if there is none. */
  readonly body: string
}

/** A response of the fake, before a fault is applied. */
export type FakeResponse = ReturnType<typeof jsonResponse>

/** Creates a response with a JSON body, unless that is undefined, and the headers that every response has. */
export function jsonResponse(status: number, body: unknown, headers: Readonly<Record<string, string>>) {
  const common = {
    ...(body !== undefined && { 'content-type': 'application/json; charset=utf-8' }),
    'cache-control': 'no-store',
    'x-request-id': `fake-${Math.random().toString(36).slice(2)}`,
  }
  // No text of the service contains U+0000, and not every runtime has `JSON.rawJSON`.
  const marked = JSON.stringify(body, (_, value) => (typeof value === 'bigint' ? `\0${value}` : value)) ?? ''
  return { status, headers: { ...common, ...headers }, body: marked.replace(/"\\u0000(-?\d+)"/g, '$1') }
}

/**
 * Checks a fault.
 *
 * @throws UsageError if it has an unknown name, an invalid value or one that has no effect
 */
export function checkFault(fault: Fault, times: number): void {
  requireKnown(fault, ['delay', 'connectionError', 'status', 'body', 'headers', 'cutBodyAfter'], 'options')
  const { status = 200, delay = 0, cutBodyAfter = 0, body = '', headers = {}, connectionError } = fault
  if (!Number.isInteger(times) || times < 1) reject('times', 'must be a positive integer')
  // `new Response` rejects a body with these.
  if (!Number.isInteger(status) || status < 200 || status > 599 || [204, 205, 304].includes(status)) {
    reject('status', 'must be an integer from 200 to 599 whose responses have a body')
  }
  if (!(delay >= 0)) reject('delay', 'must be a non-negative number')
  if (!Number.isInteger(cutBodyAfter) || cutBodyAfter < 0) reject('cutBodyAfter', 'must be a non-negative integer')
  if (typeof body !== 'string') reject('body', 'must be a string')
  readHeaders(headers)
  if (connectionError !== undefined && connectionError !== true) reject('connectionError', 'must be true')
  const { delay: _, connectionError: __, ...response } = fault
  if (connectionError && Object.values(response).some((value) => value !== undefined)) {
    reject('connectionError', 'has no response; remove status, body, headers and cutBodyAfter')
  }
}

/** Reads the arguments of `fetch`: those of the client, or a `Request` as the options, as Mock Service Worker passes it. */
export async function readRequest(url: string, init: FetchInit = {}): Promise<FakeRequest> {
  const { method = 'GET', headers } = init
  const body = 'text' in init && typeof init.text === 'function' ? await init.text() : String(init.body ?? '')
  return { method, url: new URL(url).href, headers: Object.fromEntries(new Headers(headers)), body }
}

/** Waits for the delay of a fault. Rejects, like `fetch`, if the request is aborted. */
export async function wait({ delay = 0 }: Fault, signal: Signal | null | undefined): Promise<void> {
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
export function toResponse({ status, ...response }: FakeResponse, fault: Fault): FetchResponse {
  const { body = response.body, cutBodyAfter } = fault
  const headers = new Headers({ ...response.headers, ...fault.headers })
  const broken = new TypeError('terminated')
  // The part that the client uses, for jsdom, which has no `Response`.
  if (typeof Response === 'undefined') {
    return { status, headers, text: async () => (cutBodyAfter === undefined ? body : Promise.reject(broken)) }
  }
  if (cutBodyAfter === undefined) return new Response(body || null, { status, headers })
  const bytes = new TextEncoder().encode(body.slice(0, cutBodyAfter))
  const stream = new ReadableStream({
    start: (controller) => controller.enqueue(bytes),
    pull: (controller) => controller.error(broken),
  })
  return new Response(stream, { status, headers })
}

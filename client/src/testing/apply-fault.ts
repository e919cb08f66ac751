import type { Fault } from './fault.ts'
import type { FakeResponse } from './response.ts'

/** Waits for the delay of a fault. Rejects, like `fetch`, if the request is aborted. */
export async function wait({ delay = 0 }: Fault, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted()
  if (delay === 0) return
  await new Promise<void>((resolve, reject) => {
    const timer = setTimeout(resolve, delay)
    signal.addEventListener('abort', () => {
      clearTimeout(timer)
      reject(signal.reason)
    })
  })
}

/** Applies a fault to a response. */
export function toResponse(response: FakeResponse, { body = response.body, headers, cutBodyAfter }: Fault): Response {
  const init = { status: response.status, headers: { ...response.headers, ...headers } }
  const hasNoBody = response.status === 204 || response.status === 304
  if (cutBodyAfter === undefined) return new Response(hasNoBody ? null : body, init)
  const bytes = new TextEncoder().encode(body.slice(0, cutBodyAfter))
  const stream = new ReadableStream({
    start: (controller) => controller.enqueue(bytes),
    pull: (controller) => controller.error(new TypeError('terminated')),
  })
  return new Response(stream, init)
}

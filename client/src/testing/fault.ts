import type { Trouble } from './trouble.ts'

/** An answer, before trouble. */
export interface FakeAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** Waits for the delay of a trouble. Rejects as `fetch` does when the request is aborted. */
export async function wait({ delay = 0 }: Trouble, signal: AbortSignal): Promise<void> {
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

/** The answer as `fetch` resolves with it, with the trouble in it. */
export function toResponse(answer: FakeAnswer, { body = answer.body, headers, cutBodyAfter }: Trouble): Response {
  const init = { status: answer.status, headers: { ...answer.headers, ...headers } }
  const emptyByLaw = answer.status === 204 || answer.status === 304
  if (cutBodyAfter === undefined) return new Response(emptyByLaw ? null : body, init)
  const bytes = new TextEncoder().encode(body.slice(0, cutBodyAfter))
  const stream = new ReadableStream({
    start: (controller) => controller.enqueue(bytes),
    pull: (controller) => controller.error(new TypeError('terminated')),
  })
  return new Response(stream, init)
}

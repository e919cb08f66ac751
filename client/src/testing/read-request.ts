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
export async function readRequest(url: string, { signal, ...init }: RequestInit = {}): Promise<ReceivedRequest> {
  if (typeof Request === 'function') {
    // Without the signal, because a Request of Node.js rejects the AbortSignal of jsdom.
    const request = new Request(url, init)
    return { request, body: await request.text(), signal: signal ?? request.signal }
  }
  const { method = 'GET', headers = {}, body } = init
  const request = { method, url, headers: new Headers(headers as Record<string, string>) }
  return { request, body: String(body ?? ''), signal: signal ?? undefined }
}

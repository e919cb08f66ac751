import http, { type IncomingMessage } from 'node:http'
import https from 'node:https'
import { text } from 'node:stream/consumers'
import type { Fetch } from '@plant-store/client'

/** A `fetch` for many calls: over `node:http`, in half of the CPU time. It follows no redirect. */
export const httpFetch: Fetch = async (url, { body, signal, ...init }) => {
  signal.throwIfAborted()
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const request = (url.startsWith('https:') ? https : http).request(url, init, resolve)
    // Not as an option, with which a call takes a third longer.
    signal.addEventListener('abort', () => request.destroy())
    // After the response, an error is one of its body, too.
    request.on('error', reject).end(body)
  })
  const headers = new Headers()
  for (const [name, values = []] of Object.entries(response.headersDistinct)) {
    for (const value of values) headers.append(name, value)
  }
  // What the client uses of a stream, so that it limits the size.
  const chunks = response[Symbol.asyncIterator]()
  const getReader = () => ({ read: () => chunks.next(), cancel: () => response.destroy() })
  return { status: Number(response.statusCode), headers, body: { getReader }, text: () => text(response) }
}

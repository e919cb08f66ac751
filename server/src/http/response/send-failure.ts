import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Failure } from '../../failure.ts'
import { closeLingering } from './lingering-close.ts'
import { sendJson } from './send-json.ts'

/** How much of a body may be read and discarded, in bytes: up to this it is cheaper than a new connection. */
const SMALL_BODY = 64 * 1024

/** Responds with an `Error` body, also before Express has seen the request. */
export function sendFailure(response: ServerResponse, failure: Failure): void {
  for (const [name, value] of Object.entries(failure.headers)) response.setHeader(name, value)
  const { req: request } = response
  if (!endsSoon(request)) response.setHeader('Connection', 'close')
  // Otherwise Node.js reads and discards the rest.
  if (!request.complete && response.getHeader('Connection') === 'close') closeLingering(request)
  response.statusCode = failure.status
  sendJson(response, JSON.stringify(failure.body))
}

/**
 * Whether the rest of a request is small enough to keep its connection. Clients that were shed then retry on their open
 * connections: a busy server accepts new ones slowly, one per turn of its event loop (libuv since 1.45).
 */
function endsSoon({ complete, headers }: IncomingMessage): boolean {
  if (complete) return true
  // The size of chunks is unknown, and a client that waits for "100 Continue" may send the body or not.
  if (headers['transfer-encoding'] !== undefined || headers.expect !== undefined) return false
  return Number(headers['content-length'] ?? 0) <= SMALL_BODY
}

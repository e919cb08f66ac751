import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Failure } from '../../failure.ts'
import { closeLingering } from './lingering-close.ts'
import { sendJson } from './send-json.ts'

/** How much of a body may be left to read and throw away, in bytes: that costs less than a new connection. */
const SMALL_BODY = 64 * 1024

/** Answers a failure as an `Error` body, whether or not Express has seen the request. */
export function answerFailure(response: ServerResponse, failure: Failure): void {
  for (const [name, value] of Object.entries(failure.headers)) response.setHeader(name, value)
  const { req: request } = response
  if (!endsSoon(request)) response.setHeader('Connection', 'close')
  // Where it goes on, Node.js reads the rest and throws it away.
  if (!request.complete && response.getHeader('Connection') === 'close') closeLingering(request)
  response.statusCode = failure.status
  sendJson(response, Buffer.from(JSON.stringify(failure.body)))
}

/**
 * Whether what is left of a request is small enough for its connection to go on. Callers who are turned away, because of
 * overload above all, then come again on the connections that they have: a busy server takes new ones slowly, one for
 * each turn of its event loop (libuv since 1.45).
 */
function endsSoon({ complete, headers }: IncomingMessage): boolean {
  if (complete) return true
  // How long chunks go on nobody knows; and who waits for "100 Continue" may send the body or leave it out.
  if (headers['transfer-encoding'] !== undefined || headers.expect !== undefined) return false
  return Number(headers['content-length'] ?? 0) <= SMALL_BODY
}

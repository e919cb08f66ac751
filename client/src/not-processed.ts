import type { Failure } from './errors.ts'

/** The codes and texts of failures to connect, in Node.js, Bun and Deno: nothing was sent. Browsers hide the reason. */
const NOT_CONNECTED = /ECONNREFUSED|ENOTFOUND|EAI_AGAIN|CONNECT_TIMEOUT|ConnectionRefused|client error \(Connect\)/

/**
 * Returns whether a request certainly was not processed, so that an operation that is not idempotent can be retried. A bundle
 * has it only if the contract has such an operation.
 */
export function wasNotProcessed({ kind, status, cause }: Failure): boolean {
  // 408: the request did not arrive in time. 429: it was one too many. A 503 may follow a lost commit.
  if (kind === 'api' || kind === 'undeclared') return status === 408 || status === 429
  const { code, message, cause: inner } = Object(cause)
  return kind === 'connection' && NOT_CONNECTED.test([code, message, inner?.code, inner?.message].join())
}

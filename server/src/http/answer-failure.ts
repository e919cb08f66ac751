import type { ServerResponse } from 'node:http'
import type { Failure } from './failure.ts'
import { closeLingering } from './lingering-close.ts'
import { sendJson } from './send-json.ts'

/** Answers a failure as an `Error` body, whether or not Express has seen the request. */
export function answerFailure(response: ServerResponse, failure: Failure): void {
  // A body that has not been read is in the way of the next request on this connection.
  if (!response.req.complete) {
    response.setHeader('Connection', 'close')
    closeLingering(response.req)
  }
  for (const [name, value] of Object.entries(failure.headers)) response.setHeader(name, value)
  response.statusCode = failure.status
  sendJson(response, Buffer.from(JSON.stringify(failure.body)))
}

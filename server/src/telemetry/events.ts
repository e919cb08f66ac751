/** What happens to requests and writes, which the log and the metrics listen to. */
import { randomUUID } from 'node:crypto'
import { EventEmitter } from 'node:events'
import type { Request, Response } from 'express'

/** nginx's status for a client that disconnects before its response; only logs and metrics see it. */
export const CLIENT_CLOSED_REQUEST = 499

/** A request that has got its response, or whose connection has closed before. */
export interface RequestEnded {
  request: Request
  status: number
  seconds: number
  /** The code of its `Error` body; undefined if it has none. */
  errorCode: number | undefined
}

/** Why a request or connection was rejected without being handled. */
export const rejections = ['in-flight', 'gave-way', 'connections', 'rate-limit', 'issuer-keys'] as const

/** What the log and the metrics listen to, of all servers of this process. */
export interface Events {
  requestEnded: [RequestEnded]
  requestRejected: [reason: (typeof rejections)[number]]
  /** A request has no valid token: the code of the `Error` body of a 401. */
  authenticationFailed: [errorCode: number]
  /** So many new plants were committed together. */
  batchCommitted: [size: number]
  /** So many new plants could not be committed. */
  writesRejected: [count: number, error: unknown]
}

export const events = new EventEmitter<Events>().setMaxListeners(0)

/** Printable ASCII, as proxies write it. A token that is sent as an id, or within one, must not appear in the log. */
const VALID_ID = /^(?!.*pst_)[!-~]{1,128}$/

/** Gives a request its id and reports its end. */
export function trackRequest(request: Request, response: Response): void {
  const id = request.headers['x-request-id']
  request.requestId = typeof id === 'string' && VALID_ID.test(id) ? id : randomUUID()
  if (events.listenerCount('requestEnded') === 0) return
  const begin = performance.now()
  response.once('close', () => {
    const seconds = (performance.now() - begin) / 1000
    events.emit('requestEnded', { request, status: finalStatus(response), seconds, errorCode: response.errorCode })
  })
}

/** Returns the status of a response that has closed: 499 if the connection closed before the response was complete. */
function finalStatus({ req: request, writableFinished, errored, statusCode }: Response): number {
  // A client that ends its side in the middle of a request has usually disconnected; it gets a 400 if it has not.
  if (!request.complete && request.socket.readableEnded) return CLIENT_CLOSED_REQUEST
  // A response that failed midway has the status of its failure, though its client has seen a success before.
  return writableFinished || errored ? statusCode : CLIENT_CLOSED_REQUEST
}

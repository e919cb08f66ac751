/** What happens to requests and writes, which the log and the metrics listen to. */
import { EventEmitter } from 'node:events'
import type { Request, Response } from 'express'

/** nginx's status for a client that disconnects before its response; only logs and metrics see it. */
export const CLIENT_CLOSED_REQUEST = 499

/** Why a request or connection was rejected without being handled. */
export const rejections = ['in-flight', 'gave-way', 'connections', 'rate-limit', 'issuer-keys'] as const

/** What the log and the metrics listen to, of all servers of this process. */
export interface Events {
  /** A request has got its response, or its connection has closed before. */
  requestEnded: [request: Request, status: number, seconds: number]
  requestRejected: [reason: (typeof rejections)[number]]
  /** So many plants were committed together, also those that were stored before, or whose id is taken. */
  batchCommitted: [size: number]
  /** So many new plants could not be committed. */
  writesRejected: [count: number, error: unknown]
}

export const events = new EventEmitter<Events>().setMaxListeners(0)

/** Tells log and metrics when a request has got its response, or its connection has closed before. */
export function reportEnd(request: Request, response: Response): void {
  const begin = performance.now()
  response.once('close', () => {
    events.emit('requestEnded', request, finalStatus(response), (performance.now() - begin) / 1_000)
  })
}

/** Returns the status of a response that has closed: 499 if the connection closed before the response was complete. */
function finalStatus({ req: request, writableFinished, errored, statusCode }: Response): number {
  // A client that ends its side in the middle of a request has usually disconnected; it gets a 400 if it has not.
  if (!request.complete && request.socket.readableEnded) return CLIENT_CLOSED_REQUEST
  // A response that failed midway has the status of its failure, though its client has seen a success before.
  return writableFinished || errored ? statusCode : CLIENT_CLOSED_REQUEST
}

import { randomUUID } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import type { Request, Response } from 'express'
import { CLIENT_CLOSED_REQUEST, events } from '../telemetry/events.ts'
import { HttpError } from './errors.ts'

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
function finalStatus(response: ServerResponse): number {
  const { complete, socket } = response.req
  // A client that ends its side in the middle of a request has usually disconnected; it gets a 400 if it has not.
  if (!complete && socket.readableEnded) return CLIENT_CLOSED_REQUEST
  if (response.writableFinished) return response.statusCode
  const { errored } = response
  // The client has seen a status of success, and then that the connection broke.
  if (errored) return errored instanceof HttpError ? errored.status : 500
  return CLIENT_CLOSED_REQUEST
}

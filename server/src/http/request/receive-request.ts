import { randomUUID } from 'node:crypto'
import type { NextFunction, Request, Response } from 'express'
import type { Logger } from 'pino'
import { requestEnded } from '../../telemetry/events.ts'
import { setCommonHeaders } from '../response/common-headers.ts'
import { refuseMalformedRequest } from './malformed-request.ts'

/**
 * What logs and metrics call a request whose caller went away before its answer, since nginx did. Nobody is sent it.
 */
const CLIENT_CLOSED_REQUEST = 499

const WELL_FORMED_ID = /^[\w.-]{1,64}$/

/** Refuses a malformed request; gives every other an id, the headers that its answer carries, and a line in the log. */
export function receiveRequest(logger: Logger) {
  return (request: Request, response: Response, next: NextFunction): void => {
    const offered = request.headers['x-request-id']
    request.requestId = typeof offered === 'string' && WELL_FORMED_ID.test(offered) ? offered : randomUUID()
    setCommonHeaders(response, request.requestId)
    if (requestEnded.hasSubscribers || logger.isLevelEnabled('debug')) reportEnd(logger, request, response)
    refuseMalformedRequest(request)
    next()
  }
}

function reportEnd(logger: Logger, request: Request, response: Response): void {
  const begin = performance.now()
  response.once('close', () => {
    const { method, path, requestId } = request
    const milliseconds = Math.round((performance.now() - begin) * 10) / 10
    const status = response.writableFinished ? response.statusCode : CLIENT_CLOSED_REQUEST
    requestEnded.publish({ method, route: request.route?.path, status, seconds: milliseconds / 1000 })
    logger.debug({ requestId, status, milliseconds }, `${method} ${path}`)
  })
}

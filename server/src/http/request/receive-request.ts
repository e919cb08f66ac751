import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { ErrorName } from '@plant-store/contract'
import type { Request, RequestHandler, Response } from 'express'
import type { Logger } from 'pino'
import { Failure } from '../../failure.ts'
import { CLIENT_CLOSED_REQUEST, requestBegan, requestEnded } from '../../telemetry/events.ts'

declare global {
  namespace Express {
    interface Request {
      /** Names the request in the log; it is also the header `X-Request-Id` of the response. */
      requestId: string
    }
  }
}

const VALID_ID = /^[\w.-]{1,64}$/
/** Node.js would silently use only the first of these. */
const SINGLE_HEADERS = new Set(['authorization', 'host'])
const MAX_HEADERS = 1000

/** Gives a request its id, logs its end, and rejects it if it is malformed. */
export function receiveRequest(logger: Logger): RequestHandler {
  return (request, response, next) => {
    const id = request.headers['x-request-id']
    request.requestId = typeof id === 'string' && VALID_ID.test(id) ? id : randomUUID()
    if (requestEnded.hasSubscribers || logger.isLevelEnabled('debug')) reportEnd(logger, request, response)
    rejectMalformed(request)
    next()
  }
}

function reportEnd(logger: Logger, request: Request, response: Response): void {
  const begin = performance.now()
  requestBegan.publish(request.method)
  response.once('close', () => {
    const { method, path, requestId } = request
    const milliseconds = Math.round((performance.now() - begin) * 10) / 10
    const status = response.writableFinished ? response.statusCode : CLIENT_CLOSED_REQUEST
    requestEnded.publish({ method, route: request.route?.path, status, seconds: milliseconds / 1000 })
    logger.debug({ requestId, status, milliseconds }, `${method} ${path}`)
  })
}

/**
 * Rejects what the parser of Node.js accepts: a duplicate or missing header (RFC 9112 section 3.2, RFC 6750 section 3.1),
 * a transfer coding other than chunked or in HTTP/1.0 (RFC 9112 section 6.1), an expectation that cannot be met, too many
 * headers, and HTTP versions other than 1.
 */
function rejectMalformed({ headers, rawHeaders, httpVersion, httpVersionMajor }: IncomingMessage): void {
  if (httpVersionMajor !== 1) throw malformed('httpVersionNotSupported')
  if (rawHeaders.length > 2 * MAX_HEADERS) throw malformed('headersTooLarge')
  if (headers.host === undefined && httpVersion !== '1.0') {
    throw malformed('badRequest', 'The header Host is missing. Send it.')
  }
  const duplicate = findDuplicate(rawHeaders)
  if (duplicate) throw malformed('badRequest', `The header ${duplicate} was sent twice. Send it once.`)
  const coding = headers['transfer-encoding']?.toLowerCase()
  if (coding !== undefined && (coding !== 'chunked' || httpVersion === '1.0')) {
    throw malformed('badRequest', 'The header Transfer-Encoding may only be chunked, in HTTP/1.1.')
  }
  if ((headers.expect ?? '100-continue').toLowerCase() !== '100-continue') throw new Failure('expectationFailed')
}

/** The end of a malformed request is uncertain, so nothing after it is read. */
function malformed(reason: ErrorName, message?: string): Failure {
  return new Failure(reason, message, { headers: { Connection: 'close' } })
}

function findDuplicate(rawHeaders: readonly string[]): string | undefined {
  let seen: string[] = []
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]?.toLowerCase() ?? ''
    if (!SINGLE_HEADERS.has(name)) continue
    if (seen.includes(name)) return name
    seen = [...seen, name]
  }
  return undefined
}

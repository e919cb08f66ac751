import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { ErrorName } from '@plant-store/contract'
import type { Request, Response } from 'express'
import { HttpError } from '../../http-error.ts'
import { requestEnded } from '../../telemetry/events.ts'
import { finalStatus, sendError } from '../response/error-responses.ts'

declare global {
  namespace Express {
    interface Request {
      /** Names the request in the log; it is also the header `X-Request-Id` of the response. */
      requestId: string
    }
  }
}

/** A token that is sent as an id, or within one, must not appear in the log. */
const VALID_ID = /^(?!.*pst_)[\w.-]{1,64}$/
/** Node.js would silently use only the first of these. */
const SINGLE_HEADERS = new Set(['authorization', 'host'])
const MAX_HEADERS = 1000
/** Gives a request its id, reports its end, and rejects it if it is malformed. */
export function receiveRequest(request: Request, response: Response): void {
  identifyRequest(request, response)
  rejectMalformed(request)
}

/** Gives a request its id and reports its end. */
function identifyRequest(request: Request, response: Response): void {
  const { headers, socket } = request
  const id = headers['x-request-id']
  request.requestId = typeof id === 'string' && VALID_ID.test(id) ? id : randomUUID()
  if (!requestEnded.hasSubscribers) return
  const begin = performance.now()
  const sentBefore = socket.bytesWritten
  response.once('close', () => {
    requestEnded.publish({
      request,
      status: finalStatus(response),
      seconds: (performance.now() - begin) / 1000,
      bytesSent: socket.bytesWritten - sentBefore,
    })
  })
}

/**
 * Rejects what the parser of Node.js accepts: a duplicate or missing header (RFC 9112 section 3.2, RFC 6750
 * section 3.1), a transfer coding other than chunked or in HTTP/1.0 (RFC 9112 section 6.1), an expectation that cannot be
 * met, too many headers, and HTTP versions other than 1: with a 400, since a 505 would count as a failure of the server.
 */
function rejectMalformed({ headers, rawHeaders, httpVersion, httpVersionMajor }: IncomingMessage): void {
  if (httpVersionMajor !== 1) throw malformed('badRequest', 'The HTTP version is not supported. Use HTTP/1.1.')
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
  if ((headers.expect ?? '100-continue').toLowerCase() !== '100-continue') throw new HttpError('expectationFailed')
}

/** The end of a malformed request is uncertain, so nothing after it is read. */
function malformed(reason: ErrorName, message?: string): HttpError {
  return new HttpError(reason, message, { headers: { Connection: 'close' } })
}

/** Rejects a request whose target Express cannot read: it would not call any middleware. */
export function rejectTarget(request: Request, response: Response): void {
  identifyRequest(request, response)
  const message = 'The request target is invalid. Use a path, or an http or https URL.'
  sendError(response, malformed('badRequest', message))
}

function findDuplicate(rawHeaders: readonly string[]): string | undefined {
  const seen = new Set<string>()
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]?.toLowerCase() ?? ''
    if (seen.has(name)) return name
    if (SINGLE_HEADERS.has(name)) seen.add(name)
  }
  return undefined
}

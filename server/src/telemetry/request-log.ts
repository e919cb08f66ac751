/** What the log says about requests: a line for each, and why some are rejected without being handled. */
import type { Request } from 'express'
import type { Logger } from 'pino'
import { clientAddress } from '../http/client-address.ts'
import * as events from './events.ts'
import { auditLogger, oncePer } from './log.ts'

const SECOND = 1_000
/** How many lines per second requests without a valid token, or beyond a limit, may have. */
const MAX_LINES = 10
/** What requests beyond a limit get: of a rate, or of what the server can handle. */
const LIMITED = new Set([429, 503])

/**
 * Logs each request when it has ended. Requests that cost a client next to nothing (without a valid token, or beyond a
 * limit) have ten lines per second, so that no client without a token can fill the disk.
 *
 * @returns a function that unsubscribes
 */
export function logRequests(logger: Logger): () => void {
  const audit = auditLogger(logger)
  let second = 0
  let limited = 0

  function hasLine(isLimited: boolean): boolean {
    if (!isLimited) return true
    const now = Math.floor(performance.now() / SECOND)
    if (now !== second) limited = 0
    second = now
    limited++
    return limited <= MAX_LINES
  }

  function logEnded({ request, status, seconds, bytesSent }: events.RequestEnded): void {
    const { method, route } = request
    const { identity } = request as Partial<Pick<Request, 'identity'>>
    if (!hasLine(!identity || LIMITED.has(status))) return
    audit.info(
      {
        event: 'request',
        requestId: request.requestId,
        method,
        route: route?.path,
        status,
        milliseconds: Math.round(seconds * 10_000) / 10,
        bytesSent,
        account: identity?.account,
        tokenId: identity?.tokenId,
        clientAddress: clientAddress(request),
      },
      `${method} ${route?.path ?? 'unknown path'} ${status}`,
    )
  }

  function logUnparsed({ requestId, status, address }: events.RequestUnparsed): void {
    if (!hasLine(true)) return
    const fields = { event: 'request', requestId, status, clientAddress: address }
    audit.info(fields, `malformed request ${status}`)
  }

  const unsubscribes = [
    events.subscribe(events.requestEnded, logEnded),
    events.subscribe(events.requestUnparsed, logUnparsed),
  ]
  return () => {
    for (const unsubscribe of unsubscribes) unsubscribe()
  }
}

/**
 * Logs why requests and connections are rejected, each reason at most once per second: a line for each would cost more than
 * rejecting it, under overload.
 *
 * @returns a function that unsubscribes
 */
export function logRejections(logger: Logger): () => void {
  const mayLog = new Map(events.rejections.map((reason) => [reason, oncePer(SECOND)]))
  return events.subscribe(events.requestRejected, (reason) => {
    if (!mayLog.get(reason)?.()) return
    logger.info({ event: 'requests rejected', reason }, `requests are rejected: ${reason}`)
  })
}

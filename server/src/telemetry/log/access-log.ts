import type { Request } from 'express'
import type { Logger } from 'pino'
import { clientAddress, validAddress } from '../../limits/client-address.ts'
import { type RequestEnded, type RequestUnparsed, requestEnded, requestUnparsed, subscribe } from '../events.ts'
import { createInterval } from './interval.ts'

/** The period in which lines are counted, in milliseconds. */
const INTERVAL = 1_000
/** How many lines per period requests without a valid token, or beyond a limit, may have. */
const MAX_LINES = 10
/** What requests beyond a limit get: of a rate, or of what the server can handle. */
const LIMITED = new Set([429, 503])

/**
 * Logs each request when it has ended. Requests that cost a client next to nothing (without a valid token, or beyond a
 * limit) have ten lines per second, so that no client without a token can fill the disk. A line counts those without one.
 *
 * @param logger has no level that hides the lines
 * @param hasRoom whether a request may have a line; default: always
 * @returns a function that writes the last line and unsubscribes
 */
export function startAccessLog(logger: Logger, hasRoom: () => boolean = () => true): () => void {
  let limited = 0
  let omitted = 0
  const interval = createInterval(INTERVAL, () => {
    limited = 0
    if (omitted === 0) return
    if (hasRoom()) logOmitted()
    else interval.begin()
  })

  function logOmitted(): void {
    if (omitted > 0) logger.info({ event: 'requests omitted', omitted }, 'requests omitted from the access log')
    omitted = 0
  }

  function hasLine(isLimited: boolean): boolean {
    if (isLimited) limited++
    const isWritten = hasRoom() && !(isLimited && limited > MAX_LINES)
    if (!isWritten) omitted++
    if (isLimited || !isWritten) interval.begin()
    return isWritten
  }

  function logEnded(ended: RequestEnded): void {
    const { request, method, route, status, seconds, bytesSent } = ended
    const { identity } = request as Partial<Pick<Request, 'identity'>>
    if (!hasLine(!identity || LIMITED.has(status))) return
    logger.info(
      {
        event: 'request',
        requestId: request.requestId,
        method,
        route,
        status,
        milliseconds: Math.round(seconds * 10_000) / 10,
        bytesSent,
        account: identity?.account,
        tokenId: identity?.tokenId,
        clientAddress: validAddress(clientAddress(request)),
      },
      `${method} ${route ?? 'unknown path'} ${status}`,
    )
  }

  function logUnparsed({ requestId, status, address }: RequestUnparsed): void {
    if (!hasLine(true)) return
    const fields = { event: 'request', requestId, status, clientAddress: validAddress(address) }
    logger.info(fields, `malformed request ${status}`)
  }

  const ends = [subscribe(requestEnded, logEnded), subscribe(requestUnparsed, logUnparsed), interval.end, logOmitted]
  return () => {
    for (const end of ends) end()
  }
}

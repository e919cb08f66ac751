import type { Request } from 'express'
import type { Logger } from 'pino'
import { type RequestEnded, type RequestUnparsed, requestEnded, requestUnparsed, subscribe } from '../events.ts'
import { validAddress } from '../valid-address.ts'
import { createInterval } from './interval.ts'

/** The period in which lines are counted, in milliseconds. */
const INTERVAL = 1_000
/** How many lines per period requests without a valid token, or beyond a limit, may have. */
const MAX_LINES = 10
/** What requests beyond a limit get: of a rate, or of what the server can handle. */
const LIMITED = new Set([429, 503])

/**
 * Logs each request when it has ended. Requests that cost a client next to nothing (without a valid token, or beyond a
 * limit) have ten lines per second, and a line that counts the others, so that no client without a token can fill the disk.
 *
 * @param logger has no level that hides the lines
 * @returns a function that writes the last line and unsubscribes
 */
export function startAccessLog(logger: Logger): () => void {
  let limited = 0
  const interval = createInterval(INTERVAL, () => {
    const omitted = limited - MAX_LINES
    if (omitted > 0) logger.info({ event: 'requests omitted', omitted }, 'requests omitted from the access log')
    limited = 0
  })

  function hasLine(): boolean {
    interval.begin()
    limited++
    return limited <= MAX_LINES
  }

  function logEnded(ended: RequestEnded): void {
    const { request, method, route, status, seconds, bytesSent } = ended
    const { identity } = request as Partial<Pick<Request, 'identity'>>
    if ((!identity || LIMITED.has(status)) && !hasLine()) return
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
        clientAddress: validAddress(request.ip),
        traceId: request.traceId,
      },
      `${method} ${route ?? 'unknown path'} ${status}`,
    )
  }

  function logUnparsed({ requestId, status, address }: RequestUnparsed): void {
    if (!hasLine()) return
    const fields = { event: 'request', requestId, status, clientAddress: validAddress(address) }
    logger.info(fields, `malformed request ${status}`)
  }

  const ends = [subscribe(requestEnded, logEnded), subscribe(requestUnparsed, logUnparsed), interval.end]
  return () => {
    for (const end of ends) end()
  }
}

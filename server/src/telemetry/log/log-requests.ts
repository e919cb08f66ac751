/** What the log says about requests: a line for each, what was rejected, and who fails to authenticate. */
import type { Request } from 'express'
import type { Logger } from 'pino'
import { clientAddress } from '../../http/request/client-address.ts'
import * as events from '../events.ts'
import { auditLogger } from './logger.ts'

/** The periods that a line covers, in milliseconds. */
const SECOND = 1_000
const TEN_SECONDS = 10_000
/** How many lines per second requests without a valid token, or beyond a limit, may have. */
const MAX_LINES = 10
/** What requests beyond a limit get: of a rate, or of what the server can handle. */
const LIMITED = new Set([429, 503])
/** How many addresses are counted in a period; an attacker may have any number. */
const MAX_COUNTED = 1_000
/** How many addresses a line names: those with the most failures. */
const MAX_NAMED = 10

/**
 * Logs each request when it has ended. Requests that cost a client next to nothing (without a valid token, or beyond a
 * limit) have ten lines per second, so that no client without a token can fill the disk. A line counts those without one.
 *
 * @param hasRoom whether a request may have a line
 * @returns a function that writes the last line and unsubscribes
 */
export function logRequests(logger: Logger, hasRoom: () => boolean): () => void {
  const audit = auditLogger(logger)
  let limited = 0
  let omitted = 0
  const second = createPeriod(SECOND, () => {
    limited = 0
    if (omitted > 0 && !hasRoom()) second.begin()
    else logOmitted()
  })

  function logOmitted(): void {
    if (omitted > 0) audit.info({ event: 'requests omitted', omitted }, 'requests omitted from the access log')
    omitted = 0
  }

  function hasLine(isLimited: boolean): boolean {
    if (isLimited) limited++
    const isWritten = hasRoom() && !(isLimited && limited > MAX_LINES)
    if (!isWritten) omitted++
    if (isLimited || !isWritten) second.begin()
    return isWritten
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
    second.end()
    logOmitted()
  }
}

/**
 * Logs how many requests and connections were rejected and why, at most one line per second: a line for each would cost
 * more than rejecting it, under overload.
 *
 * @returns a function that writes the last line and unsubscribes
 */
export function logRejections(logger: Logger): () => void {
  let rejected: Partial<Record<events.Rejection, number>> = {}
  const second = createPeriod(SECOND, () => {
    logger.info({ event: 'requests rejected', rejected }, 'requests rejected')
    rejected = {}
  })
  return collectIn(second, events.requestRejected, (reason) => {
    rejected[reason] = (rejected[reason] ?? 0) + 1
  })
}

/**
 * Logs who fails to authenticate, why and how often, at most one line per ten seconds.
 *
 * @returns a function that writes the last line and unsubscribes
 */
export function logAuthenticationFailures(logger: Logger): () => void {
  let failed = 0
  /** How many failures addresses had, in all and by the number of the `Error` body. */
  const byAddress = new Map<string, { address: string; failed: number; codes: Record<number, number> }>()
  const period = createPeriod(TEN_SECONDS, () => {
    const addresses = [...byAddress.values()].sort((one, other) => other.failed - one.failed).slice(0, MAX_NAMED)
    const others = addresses.reduce((rest, named) => rest - named.failed, failed)
    const fields = { event: 'authentication failed', failed, addresses, ...(others > 0 && { others }) }
    auditLogger(logger).info(fields, 'authentication failed')
    failed = 0
    byAddress.clear()
  })
  return collectIn(period, events.authenticationFailed, ({ code, address }) => {
    failed++
    const failures = byAddress.get(address) ?? { address, failed: 0, codes: {} }
    failures.failed++
    failures.codes[code] = (failures.codes[code] ?? 0) + 1
    if (byAddress.size < MAX_COUNTED) byAddress.set(address, failures)
  })
}

/**
 * Runs a function at the end of each period that has any events: nothing happens without events, and little however many
 * there are.
 */
function createPeriod(milliseconds: number, run: () => void) {
  let timer: NodeJS.Timeout | undefined
  function end(): void {
    if (!timer) return
    clearTimeout(timer)
    timer = undefined
    run()
  }
  return {
    /** Begins a period with its first event. */
    begin() {
      timer ??= setTimeout(end, milliseconds).unref()
    },
    /** Ends the period if one has begun. */
    end,
  }
}

/** Collects events in periods. Returns a function that ends the last one and unsubscribes. */
function collectIn<Message>(
  period: ReturnType<typeof createPeriod>,
  event: events.Event<Message>,
  collect: (message: Message) => void,
) {
  const unsubscribe = events.subscribe(event, (message) => {
    collect(message)
    period.begin()
  })
  return () => {
    unsubscribe()
    period.end()
  }
}

import type { Logger } from 'pino'
import { validAddress } from '../../limits/client-address.ts'
import { authenticationFailed, type Rejection, requestRejected, subscribe } from '../events.ts'
import { createInterval } from './interval.ts'
import { auditLogger } from './logger.ts'

/** The period that one line about rejected requests covers, in milliseconds. */
const REJECTION_INTERVAL = 1_000
/** The period that one line about failed authentications covers, in milliseconds. */
const AUTHENTICATION_INTERVAL = 10_000
/** How many addresses are counted in a period; an attacker may have any number. */
const MAX_COUNTED = 1_000
/** How many addresses a line names: those with the most failures. */
const MAX_NAMED = 10

/** The failures of one address. */
interface Failures {
  address: string
  failed: number
  /** How many by the number of the `Error` body. */
  codes: Record<number, number>
}

/**
 * Logs who fails to authenticate, why and how often, at most one line per ten seconds.
 *
 * @returns a function that writes the last line and unsubscribes
 */
export function logAuthenticationFailures(logger: Logger): () => void {
  let total = 0
  const byAddress = new Map<string, Failures>()
  const interval = createInterval(AUTHENTICATION_INTERVAL, () => {
    const named = [...byAddress.values()].sort((one, other) => other.failed - one.failed).slice(0, MAX_NAMED)
    const others = named.reduce((rest, { failed }) => rest - failed, total)
    const fields = { event: 'authentication failed', failed: total, addresses: named, ...(others > 0 && { others }) }
    auditLogger(logger).info(fields, 'authentication failed')
    total = 0
    byAddress.clear()
  })

  function find(address: string): Failures | undefined {
    const known = byAddress.get(address)
    if (known || byAddress.size >= MAX_COUNTED) return known
    const failures = { address, failed: 0, codes: {} }
    byAddress.set(address, failures)
    return failures
  }

  const unsubscribe = subscribe(authenticationFailed, ({ code, address }) => {
    total++
    const failures = find(validAddress(address) ?? 'unknown')
    if (failures) {
      failures.failed++
      failures.codes[code] = (failures.codes[code] ?? 0) + 1
    }
    interval.begin()
  })
  return () => {
    unsubscribe()
    interval.end()
  }
}

/**
 * Logs how many requests and connections were rejected and why, at most one line per second: a line for each would cost
 * more than rejecting it, under overload.
 *
 * @returns a function that writes the last line and unsubscribes
 */
export function logRejections(logger: Logger): () => void {
  let counts: Partial<Record<Rejection, number>> = {}
  const interval = createInterval(REJECTION_INTERVAL, () => {
    logger.info({ event: 'requests rejected', rejected: counts }, 'requests rejected')
    counts = {}
  })

  const unsubscribe = subscribe(requestRejected, (reason) => {
    counts[reason] = (counts[reason] ?? 0) + 1
    interval.begin()
  })
  return () => {
    unsubscribe()
    interval.end()
  }
}

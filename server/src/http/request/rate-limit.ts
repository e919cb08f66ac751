import type { Response } from 'express'
import { HttpError } from '../../http-error.ts'
import { createRecentMap } from '../../limits/recent-map.ts'
import type { Settings } from '../../settings.ts'
import { requestRejected } from '../../telemetry/events.ts'

/** How many requests in how many seconds. */
export type RateLimit = NonNullable<Settings['rateLimit']>

/** The window of a key, and how many requests are in it. */
interface Window {
  /** On a clock that a change of the system's time does not affect. */
  readonly begin: number
  count: number
}

/** How many keys are counted at the same time, in about 10 MB: an attacker may have any number of addresses. */
const MAX_WINDOWS = 50_000

/**
 * Creates a limit of the requests to this process under a key, such as a token or an address. Each key has a window of its
 * own, which begins with its first request. The response says what is left, in the headers of
 * draft-ietf-httpapi-ratelimit-headers-10.
 *
 * @param reason names the limit in the headers and the metrics
 * @returns a function that throws an HttpError (429) beyond the limit
 */
export function createRateLimit(
  reason: 'rate-limit' | 'auth-failures',
  { requests, seconds }: RateLimit,
): (key: string, response: Response) => void {
  const length = seconds * 1_000
  // A flood of other keys does not give one that has reached its limit a new window.
  const windows = createRecentMap<Window>(MAX_WINDOWS, length, ({ count }) => count >= requests)
  const counted = reason === 'rate-limit' ? 'requests' : 'failed authentications'
  // The draft allows only whole seconds.
  const policy = `"${reason}";q=${requests};w=${Math.ceil(seconds)}`

  return (key, response) => {
    const now = performance.now()
    const known = windows.get(key)
    const isOpen = known !== undefined && now - known.begin < length
    const window = isOpen ? known : { begin: now, count: 0 }
    if (!isOpen) windows.set(key, window)
    const count = ++window.count
    // A sum with a time would be rounded, and could be longer than the window.
    const reset = Math.ceil((length - (now - window.begin)) / 1_000)
    response.setHeader('RateLimit-Policy', policy)
    response.setHeader('RateLimit', `"${reason}";r=${Math.max(0, requests - count)};t=${reset}`)
    if (count <= requests) return
    requestRejected.publish(reason)
    throw new HttpError('tooManyRequests', `More than ${requests} ${counted} in ${seconds} s. Wait ${reset} s.`, {
      headers: { 'Retry-After': String(reset) },
    })
  }
}

import type { Response } from 'express'
import { LRUCache } from 'lru-cache'
import type { Settings } from '../settings.ts'
import { requestRejected } from '../telemetry/events.ts'
import { HttpError } from './errors.ts'

/** How many requests in how many seconds. */
export type RateLimit = NonNullable<Settings['rateLimit']>

/**
 * How many keys are counted at the same time, in about 10 MB: an attacker may have any number of addresses. Those that were
 * not used for longest go first.
 */
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
  // A multiplication may be off by a fraction.
  const windows = new LRUCache<string, { count: number }>({ max: MAX_WINDOWS, ttl: Math.round(seconds * 1_000) })
  const counted = reason === 'rate-limit' ? 'requests' : 'failed authentications'
  // The draft allows only whole seconds.
  const policy = `"${reason}";q=${requests};w=${Math.ceil(seconds)}`

  return (key, response) => {
    const window = windows.get(key) ?? { count: 0 }
    if (window.count === 0) windows.set(key, window)
    const count = ++window.count
    const reset = Math.ceil(windows.getRemainingTTL(key) / 1_000)
    response.setHeader('RateLimit-Policy', policy)
    response.setHeader('RateLimit', `"${reason}";r=${Math.max(0, requests - count)};t=${reset}`)
    if (count <= requests) return
    requestRejected.publish(reason)
    throw new HttpError('tooManyRequests', `More than ${requests} ${counted} in ${seconds} s. Wait ${reset} s.`, {
      headers: { 'Retry-After': String(reset) },
    })
  }
}

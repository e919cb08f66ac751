import type { Response } from 'express'
import { LRUCache } from 'lru-cache'
import type { Settings } from '../settings.ts'
import { events } from '../telemetry/events.ts'
import { HttpError } from './errors.ts'

/** How many requests in how many seconds. */
export type RateLimit = NonNullable<Settings['rateLimit']>

/**
 * How many tokens are counted at the same time, in about 10 MB. Those that were not used for longest go first.
 */
const MAX_WINDOWS = 50_000

/**
 * Creates a limit of the requests to this process with a token, which the function takes by its id. Each token has a
 * window of its own, which begins with its first request. The response says what is left, in the headers of
 * draft-ietf-httpapi-ratelimit-headers-11.
 *
 * @returns a function that throws an HttpError (429) beyond the limit
 */
export function createRateLimit({ requests, seconds }: RateLimit): (tokenId: string, response: Response) => void {
  // A multiplication may be off by a fraction.
  const windows = new LRUCache<string, { count: number }>({ max: MAX_WINDOWS, ttl: Math.round(seconds * 1_000) })
  // The draft allows only whole seconds.
  const policy = `"rate-limit";q=${requests};w=${Math.ceil(seconds)}`

  return (tokenId, response) => {
    const window = windows.get(tokenId) ?? { count: 0 }
    if (window.count === 0) windows.set(tokenId, window)
    const count = ++window.count
    const reset = Math.ceil(windows.getRemainingTTL(tokenId) / 1_000)
    response.setHeader('RateLimit-Policy', policy)
    response.setHeader('RateLimit', `"rate-limit";r=${Math.max(0, requests - count)};t=${reset}`)
    if (count <= requests) return
    events.emit('requestRejected', 'rate-limit')
    throw new HttpError('tooManyRequests', `More than ${requests} requests in ${seconds} s. Wait ${reset} s.`, {
      headers: { 'Retry-After': String(reset) },
    })
  }
}

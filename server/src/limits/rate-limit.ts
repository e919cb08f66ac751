import type { Request, Response } from 'express'
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible'
import { Failure } from '../failure.ts'
import type { Settings } from '../settings/settings.ts'
import { requestRejected } from '../telemetry/events.ts'

/** How many requests in how many seconds. */
export type RateLimit = NonNullable<Settings['rateLimit']>

/** Counts a request under a key, such as a token or an address. */
export type CountRequest = (key: string, response: Response) => Promise<void>

/** Limits how often a token, or the subject of JSON Web Tokens, may send requests. */
export function limitRate(limit: RateLimit): (request: Pick<Request, 'identity'>, response: Response) => Promise<void> {
  const countRequest = createRateLimit('rate-limit', limit)
  return ({ identity }, response) => countRequest(identity.rateLimitKey, response)
}

/**
 * Creates a counter of requests. Each key has a window of its own, which begins with its first request. The response says
 * what is left, in the headers of draft-ietf-httpapi-ratelimit-headers-10. Processes do not share counts.
 *
 * @param reason names the limit in the headers and the metrics
 * @returns a function that throws a Failure (429) beyond the limit
 */
export function createRateLimit(
  reason: 'rate-limit' | 'auth-failures',
  { requests, seconds }: RateLimit,
): CountRequest {
  const counted = reason === 'rate-limit' ? 'requests' : 'failed authentications'
  const limiter = new RateLimiterMemory({ points: requests, duration: seconds })
  // The draft allows only whole seconds.
  const policy = `"${reason}";q=${requests};w=${Math.ceil(seconds)}`

  return async (key, response) => {
    const { state, passed } = await consume(key)
    const reset = Math.ceil(state.msBeforeNext / 1000)
    response.setHeader('RateLimit-Policy', policy)
    response.setHeader('RateLimit', `"${reason}";r=${state.remainingPoints};t=${reset}`)
    if (passed) return
    requestRejected.publish(reason)
    throw new Failure('tooManyRequests', `More than ${requests} ${counted} in ${seconds} s. Wait ${reset} s.`, {
      headers: { 'Retry-After': String(reset) },
    })
  }

  async function consume(key: string): Promise<{ state: RateLimiterRes; passed: boolean }> {
    try {
      return { state: await limiter.consume(key), passed: true }
    } catch (state) {
      if (state instanceof RateLimiterRes) return { state, passed: false }
      throw state
    }
  }
}

import type { Response } from 'express'
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible'
import { Failure } from '../failure.ts'
import type { Settings } from '../settings/settings.ts'
import { requestRejected } from '../telemetry/events.ts'

/** Counts a request of a key, such as a token or an address. */
export type CountRequest = (key: string, response: Response) => Promise<void>

/**
 * Makes a counter of requests; without a limit it lets all pass. Each key has a window of its own, which begins with
 * its first request. The answer says what is left, in the headers of the IETF draft
 * (draft-ietf-httpapi-ratelimit-headers-10). The count is that of this process: several share nothing.
 *
 * @param reason what the limit is for, named in the headers and the metrics
 * @returns a function that throws a Failure (429) where the limit is passed
 */
export function createRateLimit(reason: 'rate-limit' | 'auth-failures', limit: Settings['rateLimit']): CountRequest {
  if (limit === undefined) return async () => {}
  const { requests, seconds } = limit
  const limiter = new RateLimiterMemory({ points: requests, duration: seconds })
  // The draft allows whole seconds only.
  const policy = `"${reason}";q=${requests};w=${Math.ceil(seconds)}`

  return async (key, response) => {
    const { state, passed } = await consume(key)
    const reset = Math.ceil(state.msBeforeNext / 1000)
    response.setHeader('RateLimit-Policy', policy)
    response.setHeader('RateLimit', `"${reason}";r=${state.remainingPoints};t=${reset}`)
    if (passed) return
    requestRejected.publish(reason)
    throw new Failure('tooManyRequests', `More than ${requests} requests in ${seconds} s. Wait ${reset} s.`, {
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

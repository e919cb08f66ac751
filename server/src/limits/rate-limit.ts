import type { Response } from 'express'
import { Failure } from '../failure.ts'
import type { Settings } from '../settings/settings.ts'
import { requestRejected } from '../telemetry/events.ts'

/** How many requests in how many seconds. */
export type RateLimit = NonNullable<Settings['rateLimit']>

/**
 * Creates a limit of the requests to this process under a key, such as a token or an address. Each key has a window of its
 * own, which begins with its first request. The response says what is left, in the headers of
 * draft-ietf-httpapi-ratelimit-headers-10.
 *
 * @param reason names the limit in the headers and the metrics
 * @returns a function that throws a Failure (429) beyond the limit
 */
export function createRateLimit(
  reason: 'rate-limit' | 'auth-failures',
  { requests, seconds }: RateLimit,
): (key: string, response: Response) => void {
  const counter = createCounter(seconds * 1_000)
  const counted = reason === 'rate-limit' ? 'requests' : 'failed authentications'
  // The draft allows only whole seconds.
  const policy = `"${reason}";q=${requests};w=${Math.ceil(seconds)}`

  return (key, response) => {
    const { count, endsIn } = counter(key)
    const reset = Math.ceil(endsIn / 1000)
    response.setHeader('RateLimit-Policy', policy)
    response.setHeader('RateLimit', `"${reason}";r=${Math.max(0, requests - count)};t=${reset}`)
    if (count <= requests) return
    requestRejected.publish(reason)
    throw new Failure('tooManyRequests', `More than ${requests} ${counted} in ${seconds} s. Wait ${reset} s.`, {
      headers: { 'Retry-After': String(reset) },
    })
  }
}

/** Counts per key, in windows of a length in milliseconds. A change of the system's clock does not affect it. */
function createCounter(length: number): (key: string) => { count: number; endsIn: number } {
  // All windows are equally long, and a Map keeps the order of insertion: the first one is the first to end.
  const windows = new Map<string, { begin: number; count: number }>()
  return (key) => {
    const now = performance.now()
    for (const [first, { begin }] of windows) {
      if (now - begin < length) break
      windows.delete(first)
    }
    const window = windows.get(key) ?? { begin: now, count: 0 }
    windows.set(key, window)
    window.count++
    // A sum with a time would be rounded, and could be longer than the window.
    return { count: window.count, endsIn: length - (now - window.begin) }
  }
}

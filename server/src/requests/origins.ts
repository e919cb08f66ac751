import { contract } from '@plant-store/contract'
import cors from 'cors'
import type { RequestHandler } from 'express'

/** How long a browser may cache the response to a preflight, in seconds. */
const PREFLIGHT_MAX_AGE = 600
const EXPOSED_HEADERS = 'ETag,Link,RateLimit,RateLimit-Policy,Retry-After,WWW-Authenticate,X-Request-Id'
const METHODS = [...new Set(['HEAD', ...Object.values(contract).map(({ method }) => method)])].sort()

/**
 * Lets pages of some origins call the service (CORS), with any request headers: tools such as OpenTelemetry add their
 * own. It comes before authentication, since a preflight has no token, and leaves the response to `OPTIONS` to the
 * path. Credentials stay off: the token is a header, not a cookie.
 */
export function createCors(origins: readonly string[]): RequestHandler {
  return cors({
    origin: [...origins],
    methods: METHODS,
    exposedHeaders: EXPOSED_HEADERS,
    maxAge: PREFLIGHT_MAX_AGE,
    preflightContinue: true,
  })
}

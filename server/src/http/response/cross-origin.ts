import cors from 'cors'
import type { RequestHandler } from 'express'

/** How long a browser may remember the answer to a preflight, in seconds. */
const PREFLIGHT_MAXIMUM_AGE = 600

/**
 * Lets pages of some origins call the service (CORS). A preflight comes without a token, so this stands before
 * authentication; it goes on to the path, which answers what it takes. Cookies are never asked for: the token is a
 * header.
 */
export function allowOrigins(origins: readonly string[]): RequestHandler {
  return cors({
    origin: [...origins],
    methods: ['GET', 'HEAD', 'POST'],
    allowedHeaders: ['Authorization', 'Content-Type', 'X-Request-Id', 'Traceparent', 'Tracestate'],
    exposedHeaders: ['Link', 'RateLimit', 'RateLimit-Policy', 'Retry-After', 'WWW-Authenticate', 'X-Request-Id'],
    maxAge: PREFLIGHT_MAXIMUM_AGE,
    preflightContinue: true,
  })
}

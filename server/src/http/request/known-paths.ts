import { contract } from '@plant-store/contract'
import cors from 'cors'
import type { Express, Request, RequestHandler, Response } from 'express'
import { HttpError } from '../../http-error.ts'

/** What a path serves. */
export interface Route {
  method: string
  path: string
}

/** How long a browser may cache the response to a preflight, in seconds. */
const PREFLIGHT_MAX_AGE = 600

const METHODS = [...new Set(['HEAD', ...Object.values(contract).map(({ method }) => method)])].sort()

/**
 * Rejects unsupported methods of known paths, with 405 and `Allow` (RFC 9110 section 15.5.6), and unknown paths, with 404, and
 * responds to `OPTIONS`. Call it after the routes are added.
 */
export function rejectOthers(app: Express, routes: readonly Route[]): void {
  const paths = new Map<string, string[]>()
  // A path with fewer parameters is one of those that a path with more of them matches.
  for (const { method, path } of routes.toSorted((one, other) => countParameters(one) - countParameters(other))) {
    paths.set(path, [...(paths.get(path) ?? []), method])
  }
  for (const [path, methods] of paths) {
    const allow = [...methods, ...(methods.includes('GET') ? ['HEAD'] : []), 'OPTIONS'].sort().join(', ')
    app.all(path, ({ method }: Request, response: Response) => {
      if (method !== 'OPTIONS') {
        throw new HttpError('methodNotAllowed', `Method not allowed. Use ${allow}.`, { headers: { Allow: allow } })
      }
      response.set('Allow', allow).status(204).end()
    })
  }
  // `OPTIONS *` is about the server as a whole (RFC 9110 section 9.3.7).
  app.use(({ method, url }: Request, response: Response) => {
    if (method !== 'OPTIONS' || url !== '*') throw new HttpError('notFound')
    response.status(204).end()
  })
}

function countParameters({ path }: Route): number {
  return path.split('/:').length
}

/**
 * Lets pages of some origins call the service (CORS), with any request headers: tools such as OpenTelemetry add their own.
 * It comes before authentication, since a preflight has no token, and leaves the response to `OPTIONS` to the path.
 * Credentials stay off: the token is a header, not a cookie.
 */
export function allowOrigins(origins: readonly string[]): RequestHandler {
  return cors({
    origin: [...origins],
    methods: METHODS,
    exposedHeaders: ['Link', 'RateLimit', 'RateLimit-Policy', 'Retry-After', 'WWW-Authenticate', 'X-Request-Id'],
    maxAge: PREFLIGHT_MAX_AGE,
    preflightContinue: true,
  })
}

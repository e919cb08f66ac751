import { contract, errorMessages, limits } from '@plant-store/contract'
import cors from 'cors'
import type { Request, RequestHandler } from 'express'
import type { Logger } from 'pino'
import type { Settings } from '../settings.ts'
import { HttpError } from './errors.ts'

/** What a path serves. */
export interface Endpoint {
  method: string
  path: string
}

/** How long a browser may cache the response to a preflight, in seconds. */
const PREFLIGHT_MAX_AGE = 600

/** How many origins are logged, since a client may send any. */
const MAX_HINTS = 10
/**
 * An origin that is safe to log: what a client sends is repeated only if it is a host and a port, which no token is.
 */
const WEB_ORIGIN = /^https?:\/\/[a-z\d.:[\]-]{1,100}$/

/** A parameter in a path of the contract. */
const PARAMETER = /\/:\w+/g
const METHODS = [...new Set(['HEAD', ...Object.values(contract).map(({ method }) => method)])].sort()

/**
 * Sorts endpoints by their paths: of two that match a request, the one comes first whose first segment that differs is
 * literal.
 */
export function byPath(one: Endpoint, other: Endpoint): number {
  const [first, second] = [shapeOf(one), shapeOf(other)]
  if (first === second) return 0
  return first < second ? -1 : 1
}

/** Returns a path in which each parameter is the same, and sorted after any text. */
function shapeOf({ path }: Endpoint): string {
  return path.replace(PARAMETER, '/\uffff')
}

/**
 * Creates what rejects unknown paths, with 404, and unsupported methods of known ones, with 405 and `Allow` (RFC 9110
 * section 15.5.6), and responds to `OPTIONS`. It comes before the routes: of several paths that match, the first one of
 * {@link byPath} counts for every method.
 */
export function createPathCheck(endpoints: readonly Endpoint[]): RequestHandler {
  const known = [...Map.groupBy(endpoints.toSorted(byPath), shapeOf).values()].map((atPath) => {
    const [{ path } = { path: '' }] = atPath
    const methods = atPath.map(({ method }) => method)
    const allowed = [...methods, ...(methods.includes('GET') ? ['HEAD'] : []), 'OPTIONS'].sort()
    const pattern = path.replaceAll('.', '\\.').replace(PARAMETER, '/[^/]+')
    return { path, pattern: new RegExp(`^${pattern}$`), allowed, allow: allowed.join(', ') }
  })

  return (request, response, next) => {
    const { method, url, path } = request
    const found = known.find(({ pattern }) => pattern.test(path))
    if (!found) {
      // `OPTIONS *` is about the server as a whole (RFC 9110 section 9.3.7).
      if (method !== 'OPTIONS' || url !== '*') throw new HttpError('notFound')
      response.status(204).end()
      return
    }
    // The metrics name it also where no route is called.
    request.pathPattern = found.path
    if (!found.allowed.includes(method)) {
      const headers = { Allow: found.allow }
      throw new HttpError('methodNotAllowed', errorMessages.methodNotAllowed.replace('{methods}', found.allow), {
        headers,
      })
    } else if (method === 'OPTIONS') response.set('Allow', found.allow).status(204).end()
    else next()
  }
}

/**
 * Reads a query exactly, for Express's setting `query parser`: the parser of Node.js drops what follows the thousandth
 * parameter, and reads malformed UTF-8 as U+FFFD.
 *
 * @returns for each name its value, or a list where it is repeated; undefined: the query is malformed, which is invalid
 *   for every operation that has parameters
 */
export function readQuery(text: string | null): Record<string, string | readonly string[]> | undefined {
  if (!text) return {}
  try {
    // It throws for what is not UTF-8, which `URLSearchParams` replaces.
    decodeURIComponent(text)
  } catch {
    return undefined
  }
  const parameters = [...new URLSearchParams(`?${text}`)]
  if (parameters.length > limits.parameters) return undefined
  const byName = Map.groupBy(parameters, ([name]) => name)
  return Object.fromEntries(
    [...byName].map(([name, pairs]) => {
      const [value = '', ...others] = pairs.map(([, each]) => each)
      return [name, others.length === 0 ? value : [value, ...others]]
    }),
  )
}

/**
 * Lets pages of some origins call the service (CORS), with any request headers: tools such as OpenTelemetry add their
 * own. It comes before authentication, since a preflight has no token, and leaves the response to `OPTIONS` to the
 * path. Credentials stay off: the token is a header, not a cookie.
 */
export function createCors(origins: readonly string[]): RequestHandler {
  return cors({
    origin: [...origins],
    methods: METHODS,
    exposedHeaders: [
      'ETag',
      'Link',
      'RateLimit',
      'RateLimit-Policy',
      'Retry-After',
      'WWW-Authenticate',
      'X-Request-Id',
    ],
    maxAge: PREFLIGHT_MAX_AGE,
    preflightContinue: true,
  })
}

/** Creates what logs once for each origin, of the first few, what to set so that its pages may call the service. */
export function createOriginHint(
  { corsOrigins = [], publicUrl }: Pick<Settings, 'corsOrigins' | 'publicUrl'>,
  logger: Logger,
): (request: Request) => void {
  const known = new Set([...corsOrigins, publicUrl && new URL(publicUrl).origin])
  const limit = known.size + MAX_HINTS
  return ({ headers: { origin = '' }, host }) => {
    // Browsers also send the origin of pages of this server, such as /docs.
    if (known.has(origin) || known.size >= limit || !WEB_ORIGIN.test(origin) || origin.endsWith(`//${host}`)) return
    known.add(origin)
    const setting = `CORS_ORIGINS=${[...corsOrigins, origin].join(',')}`
    logger.warn(
      { event: 'origin not allowed', origin },
      `browsers reject pages of ${origin}: to allow them, set ${setting}`,
    )
  }
}

/** What the head of a request says: whether it is HTTP as we speak it, its path and method, and its query. */
import type { IncomingMessage } from 'node:http'
import { type ParsedUrlQuery, parse } from 'node:querystring'
import type { RequestHandler } from 'express'
import { closing, HttpError } from './errors.ts'

/** What a path serves. */
interface Endpoint {
  method: string
  path: string
}

/**
 * What a request may say only once: of a duplicate, Node.js uses the first one, or joins both, where HTTP defines no
 * list. Its parser rejects a second `Content-Length` itself.
 */
const SINGLE_HEADERS = new Set(['authorization', 'content-type', 'host', 'origin', 'x-request-id'])
const MAX_HEADERS = 1000
/** The most parameters of a query. */
const MAX_PARAMETERS = 1000

/** A parameter in a path of the contract. */
const PARAMETER = /\/:\w+/g

/**
 * Checks a request for what the parser of Node.js accepts: a duplicate or missing header (RFC 9112 section 3.2, RFC 6750
 * section 3.1), a transfer coding other than chunked or in HTTP/1.0 (RFC 9112 section 6.1), an expectation that cannot be
 * met, too many headers, and HTTP versions other than 1: with a 400, since a 505 would count as a failure of the server.
 *
 * @throws {HttpError}
 */
function checkHead({ headers, rawHeaders, httpVersion, httpVersionMajor }: IncomingMessage): void {
  if (httpVersionMajor !== 1) throw closing('badRequest', 'The HTTP version is not supported. Use HTTP/1.1.')
  if (rawHeaders.length > 2 * MAX_HEADERS) throw closing('headersTooLarge')
  if (headers.host === undefined && httpVersion !== '1.0') {
    throw closing('badRequest', 'The header Host is missing. Send it.')
  }
  const duplicate = findDuplicate(rawHeaders)
  if (duplicate) throw closing('badRequest', `The header ${duplicate} was sent twice. Send it once.`)
  const coding = headers['transfer-encoding']?.toLowerCase()
  if (coding !== undefined && (coding !== 'chunked' || httpVersion === '1.0')) {
    throw closing('badRequest', 'The header Transfer-Encoding may only be chunked, in HTTP/1.1.')
  }
  if (headers.expect !== undefined && !isListOf('100-continue', headers.expect))
    throw new HttpError('expectationFailed')
}

/** Whether each element of a header that HTTP defines as a list is a value, in any case, or there is none. */
export function isListOf(value: string, list: string): boolean {
  const elements = list.split(',').map((element) => element.trim().toLowerCase())
  return elements.every((element) => element === '' || element === value)
}

function findDuplicate(rawHeaders: readonly string[]): string | undefined {
  const seen = new Set<string>()
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]?.toLowerCase() ?? ''
    if (seen.has(name)) return name
    if (SINGLE_HEADERS.has(name)) seen.add(name)
  }
  return undefined
}

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
 * Creates the check of heads. It also rejects unknown paths, with 404, and unsupported methods of known ones, with 405
 * and `Allow` (RFC 9110 section 15.5.6), and responds to `OPTIONS`. Of several paths that match, the first one of
 * {@link byPath} counts for every method.
 */
export function createHeadCheck(endpoints: readonly Endpoint[]): RequestHandler {
  const known = [...Map.groupBy(endpoints.toSorted(byPath), shapeOf).values()].map((atPath) => {
    const [{ path } = { path: '' }] = atPath
    const methods = atPath.map(({ method }) => method)
    const allowed = [...methods, ...(methods.includes('GET') ? ['HEAD'] : []), 'OPTIONS'].sort()
    const pattern = path.replaceAll('.', '\\.').replace(PARAMETER, '/[^/]+')
    return { path, pattern: new RegExp(`^${pattern}$`), allowed, allow: allowed.join(', ') }
  })

  return (request, response, next) => {
    checkHead(request)
    const { method, url, path, context } = request
    const found = known.find(({ pattern }) => pattern.test(path))
    if (!found) {
      // `OPTIONS *` is about the server as a whole (RFC 9110 section 9.3.7).
      if (method !== 'OPTIONS' || url !== '*') throw new HttpError('notFound')
      response.status(204).end()
      return
    }
    // The metrics name it also where no route is called.
    context.path = found.path
    if (!found.allowed.includes(method)) {
      throw new HttpError('methodNotAllowed', `Method not allowed. Use ${found.allow}.`, {
        headers: { Allow: found.allow },
      })
    }
    if (method === 'OPTIONS') response.set('Allow', found.allow).status(204).end()
    else next()
  }
}

/**
 * Reads a query exactly, for Express's setting `query parser`. By default, Node.js drops what follows the thousandth
 * parameter, and it reads malformed UTF-8 as U+FFFD.
 *
 * @returns for each name its value, or a list where it is repeated; undefined: the query is malformed, which is invalid
 *   for every operation that has parameters
 */
export function readQuery(text: string | null): ParsedUrlQuery | undefined {
  if (!text) return {}
  try {
    // It throws for what is not UTF-8.
    decodeURIComponent(text)
  } catch {
    return undefined
  }
  const query = parse(text, '&', '=', { maxKeys: 0 })
  return Object.values(query).flat().length > MAX_PARAMETERS ? undefined : query
}

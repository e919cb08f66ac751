import type { IncomingMessage } from 'node:http'
import type { ErrorName } from '@plant-store/contract'
import { Failure } from '../../failure.ts'

/** Node.js keeps the first of these and drops the rest in silence; two of them are two opinions of who asks what. */
const ONCE = new Set(['authorization', 'host'])

/** Node.js keeps the first 1000 headers by default and drops the rest in silence; the server keeps them all. */
const MAXIMUM_HEADERS = 1000

/**
 * Refuses what the parser of Node.js lets through: a header twice that may come once and no Host (RFC 9112 section 3.2,
 * RFC 6750 section 3.1), a body in another transfer coding than chunked or, in HTTP/1.0, in any (RFC 9112 section 6.1),
 * an expectation that nobody can meet, more headers than anybody needs, and an HTTP version that is not 1.
 *
 * @throws Failure
 */
export function refuseMalformedRequest({ headers, rawHeaders, httpVersion, httpVersionMajor }: IncomingMessage): void {
  if (httpVersionMajor !== 1) throw malformed('httpVersionNotSupported')
  if (rawHeaders.length > 2 * MAXIMUM_HEADERS) throw malformed('headersTooLarge')
  if (headers.host === undefined && httpVersion !== '1.0') {
    throw malformed('badRequest', 'The header Host is missing. Send it.')
  }
  const repeated = repeatedHeader(rawHeaders)
  if (repeated) throw malformed('badRequest', `The header ${repeated} was sent twice. Send it once.`)
  const coding = headers['transfer-encoding']?.toLowerCase()
  if (coding !== undefined && (coding !== 'chunked' || httpVersion === '1.0')) {
    throw malformed('badRequest', 'The header Transfer-Encoding may only be chunked, in HTTP/1.1.')
  }
  if ((headers.expect ?? '100-continue').toLowerCase() !== '100-continue') throw new Failure('expectationFailed')
}

/** Where a request ends is in doubt once it is malformed: nothing that comes after it is read. */
function malformed(reason: ErrorName, message?: string): Failure {
  return new Failure(reason, message, { headers: { Connection: 'close' } })
}

function repeatedHeader(rawHeaders: readonly string[]): string | undefined {
  let seen: string[] = []
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]?.toLowerCase() ?? ''
    if (!ONCE.has(name)) continue
    if (seen.includes(name)) return name
    seen = [...seen, name]
  }
  return undefined
}

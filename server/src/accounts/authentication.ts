import type { IncomingHttpHeaders } from 'node:http'
import type { Scope } from '@plant-store/contract'
import { Failure } from '../failure.ts'
import type { Authenticate, Caller } from './own-token.ts'

const CHALLENGE = 'Bearer realm="plant-store"'

/** The credentials of RFC 6750 section 2.1; the scheme is case-insensitive (RFC 9110 section 11.1). */
const BEARER = /^Bearer +([A-Za-z0-9\-._~+/]+=*) *$/i
const MAXIMUM_LENGTH = 4096

/**
 * Tells who sends a request, by its bearer token (RFC 6750), and that the token has the scope that is needed.
 *
 * @throws Failure 401 or 403 with the `WWW-Authenticate` header that RFC 6750 section 3 asks for: `error` is named only
 * where a token was sent.
 */
export async function authenticateBearer(
  headers: IncomingHttpHeaders,
  scope: Scope,
  authenticate: Authenticate,
): Promise<Caller> {
  const { authorization } = headers
  if (authorization === undefined || !/^bearer\b/i.test(authorization)) {
    throw new Failure('tokenMissing', undefined, { headers: { 'WWW-Authenticate': CHALLENGE } })
  }
  const token = authorization.length <= MAXIMUM_LENGTH ? BEARER.exec(authorization)?.[1] : undefined
  const caller = token === undefined ? 'tokenInvalid' : await authenticate(token)
  if (typeof caller === 'string') {
    throw new Failure(caller, undefined, { headers: { 'WWW-Authenticate': `${CHALLENGE}, error="invalid_token"` } })
  }
  if (!caller.scopes.includes(scope)) throw insufficientScope(scope)
  return caller
}

/**
 * Whether {@link authenticateBearer} has failed to tell who sends a request. A 503, for want of the key of a token, is
 * one as well: a client chooses which key its token names.
 */
export function isFailedAuthentication(error: unknown): boolean {
  return error instanceof Failure && (error.status === 401 || error.status === 503)
}

function insufficientScope(scope: Scope): Failure {
  return new Failure('scopeMissing', `The token lacks the scope "${scope}" that this operation needs.`, {
    headers: { 'WWW-Authenticate': `${CHALLENGE}, error="insufficient_scope", scope="${scope}"` },
  })
}

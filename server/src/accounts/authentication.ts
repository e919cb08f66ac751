import type { IncomingHttpHeaders } from 'node:http'
import { type contract, errorMessages, type OperationMetadata } from '@plant-store/contract'
import type { TsRestRequest } from '@ts-rest/express'
import { LRUCache } from 'lru-cache'
import type { Identity } from '../requests/context.ts'
import { HttpError } from '../requests/errors.ts'

/** A valid token. */
export interface ValidToken {
  identity: Identity
  /** In milliseconds since 1970; `Infinity`: never. */
  expiresAt: number
}

/** Why a token is rejected. */
export type InvalidToken = 'tokenInvalid' | 'tokenEnded'

/** Looks a token up. */
export type FindToken = (token: string) => Promise<ValidToken | InvalidToken>

const CHALLENGE = 'Bearer realm="plant-store"'
/** The credentials of RFC 6750 section 2.1; the scheme is case-insensitive (RFC 9110 section 11.1). */
const BEARER = /^Bearer +([A-Za-z0-9\-._~+/]+=*) *$/i
/** In characters: the cache holds whole tokens. */
const MAX_TOKEN_LENGTH = 4096
const TOO_LONG = `The token has more than ${MAX_TOKEN_LENGTH} characters. Get a shorter one, such as with fewer claims.`
/**
 * How long a valid token is cached, in milliseconds, from the start of its lookup: revocation takes effect
 * within one second in every process.
 */
const TTL = 500
/** How many tokens are cached. */
const MAX_CACHED = 10_000

/**
 * Creates the authentication of requests by their bearer tokens (RFC 6750), which also checks the scope.
 *
 * Tokens are cached, so that a busy client costs neither a database query nor a signature check per request. Only valid
 * ones are: invalid ones cannot evict them, and a new token works immediately. A map finds tokens by hash, so the time
 * that takes reveals nothing about them.
 *
 * @returns a function that returns who sends a request, or throws an HttpError: 401, 403, or 503 while the key of a token
 *   is unavailable
 */
export function createAuthentication(
  findToken: FindToken,
): (request: TsRestRequest<typeof contract>) => Promise<Identity> {
  const cache = new LRUCache<string, ValidToken>({ max: MAX_CACHED, ttl: TTL })

  async function find({ authorization = '' }: IncomingHttpHeaders): Promise<ValidToken> {
    if (!/^bearer\b/i.test(authorization)) throw unauthorized('tokenMissing')
    const token = BEARER.exec(authorization)?.[1]
    if (token === undefined) throw unauthorized('tokenInvalid')
    if (token.length > MAX_TOKEN_LENGTH) throw unauthorized('tokenInvalid', TOO_LONG)
    const cached = cache.get(token)
    if (cached && Date.now() < cached.expiresAt) return cached
    // A lookup that takes long shows the token as it was before.
    const begin = performance.now()
    const found = await findToken(token)
    if (typeof found === 'string') throw unauthorized(found)
    cache.set(token, found, { start: begin })
    return found
  }

  return async (request) => {
    const { identity } = await find(request.headers)
    const { scope } = request.tsRestRoute.metadata satisfies OperationMetadata
    if (identity.scopes.includes(scope)) return identity
    const headers = { 'WWW-Authenticate': `${CHALLENGE}, error="insufficient_scope", scope="${scope}"` }
    throw new HttpError('scopeMissing', errorMessages.scopeMissing.replace('{scope}', scope), { headers })
  }
}

/** RFC 6750 section 3: `error` is named only where a token was sent. */
function unauthorized(errorName: InvalidToken | 'tokenMissing', message?: string): HttpError {
  const challenge = errorName === 'tokenMissing' ? CHALLENGE : `${CHALLENGE}, error="invalid_token"`
  return new HttpError(errorName, message, { headers: { 'WWW-Authenticate': challenge } })
}

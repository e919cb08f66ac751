import type { IncomingHttpHeaders } from 'node:http'
import type { contract, OperationMetadata, Scope } from '@plant-store/contract'
import type { TsRestRequest } from '@ts-rest/express'
import type { Response } from 'express'
import { Failure } from '../failure.ts'
import { addressKey } from '../limits/fair-share.ts'
import { createRateLimit, type RateLimit } from '../limits/rate-limit.ts'

/** Who sends a request. */
export interface Identity {
  /** The account whose plants it sees and creates. */
  account: string
  /** What its requests are counted under: the id of an own token, or the issuer and subject of a JSON Web Token. */
  rateLimitKey: string
  scopes: readonly Scope[]
}

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

declare global {
  namespace Express {
    interface Request {
      /** Who sends the request: set before an operation is called. */
      identity: Identity
    }
  }
}

const CHALLENGE = 'Bearer realm="plant-store"'
/** The credentials of RFC 6750 section 2.1; the scheme is case-insensitive (RFC 9110 section 11.1). */
const BEARER = /^Bearer +([A-Za-z0-9\-._~+/]+=*) *$/i
const MAX_HEADER_LENGTH = 4096
/** How long a valid token is cached, in milliseconds: revocation takes effect within one second in every process. */
const TTL = 500
/** How many tokens are cached; the oldest is evicted first. */
const MAX_CACHED = 10_000

/**
 * Identifies who sends a request by its bearer token (RFC 6750) and checks the scope.
 *
 * @param failureLimit how often an address may fail
 * @throws Failure 401, 403, 429, or 503 while the key of a token is unavailable
 */
export function authenticate(
  findToken: FindToken,
  failureLimit: RateLimit | undefined,
): (request: TsRestRequest<typeof contract>, response: Response) => Promise<void> {
  const countFailure = failureLimit && createRateLimit('auth-failures', failureLimit)
  const findCached = cacheTokens(findToken)

  async function identify(headers: IncomingHttpHeaders): Promise<Identity> {
    const { authorization } = headers
    if (authorization === undefined || !/^bearer\b/i.test(authorization)) throw rejected('tokenMissing', '')
    const token = authorization.length <= MAX_HEADER_LENGTH ? BEARER.exec(authorization)?.[1] : undefined
    if (token === undefined) throw rejected('tokenInvalid', ', error="invalid_token"')
    const found = await findCached(token)
    if (typeof found === 'string') throw rejected(found, ', error="invalid_token"')
    return found.identity
  }

  return async (request, response) => {
    const { scope } = request.tsRestRoute.metadata satisfies OperationMetadata
    try {
      request.identity = await identify(request.headers)
    } catch (error) {
      // A 503 counts too: a client chooses which key its token names.
      if (error instanceof Failure) await countFailure?.(addressKey(request.ip ?? ''), response)
      throw error
    }
    if (!request.identity.scopes.includes(scope)) throw insufficientScope(scope)
  }
}

/**
 * Caches tokens, so that a busy client costs neither a database query nor a signature check per request. Only valid ones
 * are cached: invalid ones cannot evict them, and a new token works immediately. A map finds tokens by hash, so the time
 * that takes reveals nothing about them.
 */
function cacheTokens(findToken: FindToken): FindToken {
  const cache = new Map<string, ValidToken & { staleAt: number }>()
  return async (token) => {
    const cached = cache.get(token)
    if (cached && performance.now() < cached.staleAt && Date.now() < cached.expiresAt) return cached
    cache.delete(token)
    const found = await findToken(token)
    if (typeof found === 'string') return found
    const [oldest] = cache.keys()
    if (cache.size >= MAX_CACHED && oldest !== undefined) cache.delete(oldest)
    cache.set(token, { ...found, staleAt: performance.now() + TTL })
    return found
  }
}

/** RFC 6750 section 3: `error` is named only where a token was sent. */
function rejected(reason: InvalidToken | 'tokenMissing', error: string): Failure {
  return new Failure(reason, undefined, { headers: { 'WWW-Authenticate': CHALLENGE + error } })
}

function insufficientScope(scope: Scope): Failure {
  return new Failure('scopeMissing', `The token lacks the scope "${scope}" that this operation needs.`, {
    headers: { 'WWW-Authenticate': `${CHALLENGE}, error="insufficient_scope", scope="${scope}"` },
  })
}

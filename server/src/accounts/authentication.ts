import type { IncomingHttpHeaders } from 'node:http'
import { type contract, errorMessages, type OperationMetadata, type Scope } from '@plant-store/contract'
import type { TsRestRequest } from '@ts-rest/express'
import type { Response } from 'express'
import { addressKey, clientAddress } from '../http/request/client-address.ts'
import { createRateLimit, type RateLimit } from '../http/request/rate-limit.ts'
import { HttpError } from '../http-error.ts'
import { createRecentMap } from '../limits/recent-map.ts'
import { authenticationFailed } from '../telemetry/events.ts'

/** Who sends a request. */
export interface Identity {
  /** The account whose plants it sees and creates. */
  account: string
  /** Names its token in rate limits and in the log: an own token's id, or a JSON Web Token's issuer and subject. */
  tokenId: string
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
/**
 * How long a valid token is cached, in milliseconds, from the start of its lookup: revocation takes effect within one second
 * in every process.
 */
const TTL = 500
/** How many tokens are cached. */
const MAX_CACHED = 10_000

/**
 * Creates what identifies who sends a request by its bearer token (RFC 6750) and checks the scope.
 *
 * Tokens are cached, so that a busy client costs neither a database query nor a signature check per request. Only valid ones
 * are: invalid ones cannot evict them, and a new token works immediately. A map finds tokens by hash, so the time that takes
 * reveals nothing about them.
 *
 * @param failureLimit how often an address may fail
 * @returns a function that throws an HttpError: 401, 403, 429, or 503 while the key of a token is unavailable
 */
export function createAuthentication(
  findToken: FindToken,
  failureLimit: RateLimit | undefined,
): (request: TsRestRequest<typeof contract>, response: Response) => Promise<void> {
  const countFailure = failureLimit && createRateLimit('auth-failures', failureLimit)
  const cache = createRecentMap<ValidToken & { staleAt: number }>(MAX_CACHED, TTL)

  function findCached(token: string): ValidToken | undefined {
    const cached = cache.get(token)
    return cached && performance.now() < cached.staleAt && Date.now() < cached.expiresAt ? cached : undefined
  }

  async function find({ authorization = '' }: IncomingHttpHeaders, token: string | undefined): Promise<ValidToken> {
    if (!/^bearer\b/i.test(authorization)) throw rejected('tokenMissing', '')
    // A lookup that takes long shows the token as it was before.
    const staleAt = performance.now() + TTL
    const found = token === undefined ? 'tokenInvalid' : await findToken(token)
    if (typeof found === 'string') throw rejected(found, ', error="invalid_token"')
    if (token === undefined || staleAt <= performance.now()) return found
    cache.set(token, { ...found, staleAt })
    return found
  }

  function reportFailure(failure: HttpError, address: string, response: Response): void {
    if (failure.status === 401) authenticationFailed.publish({ code: failure.body.error, address })
    // A 503 counts too: a client chooses which key its token names.
    countFailure?.(address, response)
  }

  return async (request, response) => {
    const token = readToken(request.headers)
    const cached = token === undefined ? undefined : findCached(token)
    const { identity } =
      cached ??
      (await find(request.headers, token).catch((error) => {
        if (error instanceof HttpError) reportFailure(error, addressKey(clientAddress(request)), response)
        throw error
      }))
    request.identity = identity
    const { scope } = request.tsRestRoute.metadata satisfies OperationMetadata
    if (!identity.scopes.includes(scope)) throw insufficientScope(scope)
  }
}

/** Returns the token of a request; undefined: it has none, or a malformed one. */
function readToken({ authorization }: IncomingHttpHeaders): string | undefined {
  if (authorization === undefined || authorization.length > MAX_HEADER_LENGTH) return undefined
  return BEARER.exec(authorization)?.[1]
}

/** RFC 6750 section 3: `error` is named only where a token was sent. */
function rejected(reason: InvalidToken | 'tokenMissing', error: string): HttpError {
  return new HttpError(reason, undefined, { headers: { 'WWW-Authenticate': CHALLENGE + error } })
}

function insufficientScope(scope: Scope): HttpError {
  return new HttpError('scopeMissing', errorMessages.scopeMissing.replace('{scope}', scope), {
    headers: { 'WWW-Authenticate': `${CHALLENGE}, error="insufficient_scope", scope="${scope}"` },
  })
}

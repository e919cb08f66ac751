import { ScopeSchema } from '@plant-store/contract'
import { errors, type JWTPayload, type JWTVerifyOptions, jwtVerify } from 'jose'
import type { Logger } from 'pino'
import { isAccountName } from './account-name.ts'
import { createIssuerKeys } from './issuer-keys.ts'
import type { Authenticate, Caller, Refusal } from './own-token.ts'
import { SIGNATURE_ALGORITHMS } from './signature-algorithms.ts'
import { createMemory } from './token-cache.ts'

/** Whose JSON Web Tokens are accepted. */
export interface TokenIssuer {
  /** What the claim `iss` must be. */
  issuer: string
  /** What the claim `aud` must be or hold. */
  audience: string
  /** Where the issuer publishes its keys, as a JSON Web Key Set. */
  keysUrl: string
}

/** How far the issuer's clock and ours may differ, in seconds. */
const CLOCK_LEEWAY = 5
/** How long a token that was verified is believed, in milliseconds; never beyond its `exp`. */
const BELIEVED_FOR = 500

/**
 * Makes an authenticator that accepts the JSON Web Tokens of an issuer (RFC 7519, RFC 8725) and leaves all other tokens
 * to another. The claim `sub` is the account and `scope` the scopes; whoever issues the tokens is trusted with both.
 */
export function acceptJsonWebTokens(
  { issuer, audience, keysUrl }: TokenIssuer,
  authenticateOther: Authenticate,
  logger: Logger,
): Authenticate {
  const findKey = createIssuerKeys(keysUrl, logger)
  const options: JWTVerifyOptions = {
    algorithms: SIGNATURE_ALGORITHMS,
    issuer,
    audience,
    requiredClaims: ['exp'],
    clockTolerance: CLOCK_LEEWAY,
  }
  const memory = createMemory<{ caller: Caller; expiresAt: number }>(BELIEVED_FOR)

  async function verify(token: string): Promise<Caller | Refusal> {
    if (!isCanonical(token)) return 'tokenInvalid'
    const payload = await readClaims(token)
    if (typeof payload === 'string') return payload
    const { sub, exp = 0 } = payload
    if (typeof sub !== 'string' || !isAccountName(sub)) return 'tokenInvalid'
    const caller = { account: sub, rateLimitKey: `${issuer} ${sub}`, scopes: readScopes(payload) }
    memory.remember(token, { caller, expiresAt: exp * 1000 })
    return caller
  }

  async function readClaims(token: string): Promise<JWTPayload | Refusal> {
    try {
      return (await jwtVerify(token, findKey, options)).payload
    } catch (error) {
      if (error instanceof errors.JWTExpired) return 'tokenEnded'
      // Which of the rules was broken would only help whoever forges tokens; and the error holds the claims.
      if (error instanceof errors.JOSEError) return 'tokenInvalid'
      throw error
    }
  }

  return async (token) => {
    // Our own tokens have no dots, JSON Web Tokens have two.
    if (!token.includes('.')) return authenticateOther(token)
    const known = memory.recall(token)
    return known && Date.now() < known.expiresAt ? known.caller : verify(token)
  }
}

function readScopes({ scope }: JWTPayload): Caller['scopes'] {
  const named = typeof scope === 'string' ? scope.split(' ') : []
  return ScopeSchema.options.filter((known) => named.includes(known))
}

/**
 * Whether each part is base64url as RFC 7515 section 2 writes it: decoders also take padding, the letters of plain
 * base64 and any value of the unused last bits, so that one token would have many texts and fill the cache.
 */
function isCanonical(token: string): boolean {
  return token.split('.').every((part) => Buffer.from(part, 'base64url').toString('base64url') === part)
}

import { errors, type JWTPayload, type JWTVerifyOptions, jwtVerify } from 'jose'
import type { Logger } from 'pino'
import { HttpError } from '../http-error.ts'
import type { FindToken, InvalidToken } from './authentication.ts'
import { createIssuerKeys } from './issuer-keys.ts'
import { isAccountName, knownScopes } from './token-store.ts'

/** An issuer whose JSON Web Tokens are accepted. */
export interface TokenIssuer {
  /** The claim `iss`. */
  issuer: string
  /** The claim `aud`, or one of its values. */
  audience: string
  /** Where the issuer publishes its JSON Web Key Set. */
  keysUrl: string
}

/** Signatures by private keys only: an HMAC could be made with the public key, and `none` by any client. */
const SIGNATURE_ALGORITHMS = ['RS256', 'PS256', 'ES256', 'EdDSA']
/** Access tokens say `at+jwt` (RFC 9068), or no more than `JWT`. Others of the issuer say what they are for: `logout+jwt`. */
const TOKEN_TYPES = ['at+jwt', 'jwt']
/** How far the issuer's clock and ours may differ, in seconds. */
const CLOCK_TOLERANCE = 5

/**
 * Verifies the JSON Web Tokens of an issuer (RFC 7519, RFC 8725). The claim `sub` is the account and `scope` the scopes:
 * the issuer is trusted with both.
 */
export function verifyJsonWebToken({ issuer, audience, keysUrl }: TokenIssuer, logger: Logger): FindToken {
  const findKey = createIssuerKeys(keysUrl, logger)
  const options: JWTVerifyOptions = {
    algorithms: SIGNATURE_ALGORITHMS,
    issuer,
    audience,
    requiredClaims: ['exp'],
    clockTolerance: CLOCK_TOLERANCE,
  }

  async function readClaims(token: string): Promise<JWTPayload | InvalidToken> {
    try {
      const { payload, protectedHeader } = await jwtVerify(token, findKey, options)
      return isAccessToken(protectedHeader.typ) ? payload : 'tokenInvalid'
    } catch (error) {
      if (error instanceof HttpError) throw error
      // Which rule a token breaks would only help forgers; and the error holds its claims. A key that cannot be used, such as
      // a short one, is not a fault of the server either: a client chooses which key its token names.
      return error instanceof errors.JWTExpired ? 'tokenEnded' : 'tokenInvalid'
    }
  }

  return async (token) => {
    if (!isCanonical(token)) return 'tokenInvalid'
    const claims = await readClaims(token)
    if (typeof claims === 'string') return claims
    const { sub, scope, exp = 0 } = claims
    if (typeof sub !== 'string' || !isAccountName(sub)) return 'tokenInvalid'
    const scopes = knownScopes(typeof scope === 'string' ? scope.split(' ') : [])
    const identity = { account: sub, tokenId: `${issuer} ${sub}`, scopes }
    return { identity, expiresAt: exp * 1000 }
  }
}

/** Whether the header `typ`, a media type (RFC 7515 section 4.1.9), is that of an access token, or missing. */
function isAccessToken(typ: unknown = 'JWT'): boolean {
  return typeof typ === 'string' && TOKEN_TYPES.includes(typ.toLowerCase().replace(/^application\//, ''))
}

/**
 * Whether each part is base64url as in RFC 7515 section 2. Decoders also accept padding, the alphabet of plain base64 and
 * any value of the unused last bits, so that one token would have many spellings and fill the cache.
 */
function isCanonical(token: string): boolean {
  return token.split('.').every((part) => Buffer.from(part, 'base64url').toString('base64url') === part)
}

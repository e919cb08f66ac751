import type { Scope } from '@plant-store/contract'
import * as jose from 'jose'
import type { Logger } from 'pino'
import { HttpError } from '../requests/errors.ts'
import { onceIn } from '../telemetry/log.ts'
import type { FindToken } from './authentication.ts'
import { createIssuerKeys } from './issuer-keys.ts'
import { isAccountName, knownScopes } from './tokens.ts'

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
const SIGNATURE_ALGORITHMS = ['RS256', 'PS256', 'ES256', 'Ed25519', 'EdDSA']
/**
 * The media type (RFC 7515 section 4.1.9) of access tokens: `at+jwt` (RFC 9068), or no more than `JWT`, as if it were
 * missing. Others of the issuer say what they are for: `logout+jwt`.
 */
const ACCESS_TOKEN_TYPE = /^(?:application\/)?(?:at\+)?jwt$/i
/** How far the issuer's clock and ours may differ, in seconds. */
const CLOCK_TOLERANCE = 5
/** The end of the year 9999, in seconds since 1970. */
const MAX_TIME = 253_402_300_799
/** What the log shows of a rejected token, once its signature is verified. */
const LOGGED_CLAIMS = ['iss', 'aud', 'sub', 'exp', 'nbf', 'iat', 'scope', 'scp', 'roles']
/** How long a reason is not logged after it was, in milliseconds. */
const LOG_INTERVAL = 10_000

/**
 * Verifies the JSON Web Tokens of an issuer (RFC 7519, RFC 8725). The claim `sub` is the account, `scope` or `scp` has
 * the scopes: the issuer is trusted with both.
 */
export function createJsonWebTokenLookup({ issuer, audience, keysUrl }: TokenIssuer, logger: Logger): FindToken {
  const findKey = createIssuerKeys(keysUrl, logger)
  const mayLog = onceIn(LOG_INTERVAL)
  const options: jose.JWTVerifyOptions = {
    algorithms: SIGNATURE_ALGORITHMS,
    issuer,
    audience,
    requiredClaims: ['exp'],
    clockTolerance: CLOCK_TOLERANCE,
  }

  /** Logs what is wrong with a token: without it, a wrong JWT_AUDIENCE is hard to find. */
  function log(reason: string, payload?: jose.JWTPayload): void {
    if (!mayLog(reason)) return
    const received = payload && Object.fromEntries(LOGGED_CLAIMS.map((name) => [name, payload[name]]))
    const claims = received && { expected: { iss: issuer, aud: audience }, received }
    logger.info({ event: 'token rejected', reason, ...claims }, 'a JSON Web Token was rejected')
  }

  return async (token) => {
    try {
      checkSpelling(token)
      const { payload, protectedHeader } = await jose.jwtVerify(token, findKey, options)
      checkTimes(payload)
      // Of these, jose has checked the type of exp only.
      const { sub: account, exp = 0 } = payload
      if (!ACCESS_TOKEN_TYPE.test(protectedHeader.typ ?? 'JWT')) throw new Error('unexpected "typ" header value')
      if (typeof account !== 'string' || !isAccountName(account))
        throw invalidClaim('sub', 'is not an account name', payload)
      const scopes = readScopes(payload)
      if (scopes.length === 0) log('neither "scope" nor "scp" has read or write', payload)
      return { identity: { account, tokenId: `${issuer} ${account}`, scopes }, expiresAt: exp * 1000 }
    } catch (error) {
      if (error instanceof HttpError) throw error
      if (error instanceof jose.errors.JWTExpired) return 'tokenEnded'
      // Which rule a token breaks would only help forgers. A key that cannot be used, such as a short one, is not a
      // fault of the server either: a client chooses which key its token names.
      const payload = error instanceof jose.errors.JWTClaimValidationFailed ? error.payload : undefined
      // The message of this one has text of the token.
      log(error instanceof jose.errors.JOSENotSupported ? error.code : (error as Error).message, payload)
      return 'tokenInvalid'
    }
  }
}

/** Checks that times are in seconds: one in milliseconds would be thousands of years ahead. */
function checkTimes(payload: jose.JWTPayload): void {
  const claim = (['exp', 'nbf', 'iat'] as const).find((name) => Math.abs(payload[name] ?? 0) > MAX_TIME)
  if (claim) throw invalidClaim(claim, 'is not before the year 10000', payload)
}

function invalidClaim(claim: string, mistake: string, payload: jose.JWTPayload): Error {
  return new jose.errors.JWTClaimValidationFailed(`"${claim}" claim ${mistake}`, payload, claim)
}

/** Reads `scope` (RFC 9068), or `scp` of Entra ID and Okta: names separated by spaces, or a list of them. */
function readScopes({ scope, scp }: jose.JWTPayload): Scope[] {
  return knownScopes([scope ?? scp].flat().join(' ').split(' '))
}

/**
 * Checks that a token has one spelling, each part in base64url as in RFC 7515 section 2. Decoders also accept padding, the
 * alphabet of plain base64 and any value of the unused last bits, so that one token would have many spellings and fill the
 * cache.
 */
function checkSpelling(token: string): void {
  const isCanonical = token.split('.').every((part) => Buffer.from(part, 'base64url').toString('base64url') === part)
  if (!isCanonical) throw new Error('the parts are not in canonical base64url')
}

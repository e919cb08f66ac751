import * as jose from 'jose'
import type { Logger } from 'pino'
import { HttpError, shed } from '../http-error.ts'
import type { FindToken } from './authentication.ts'
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
/** How long the key server may take for its whole response, in milliseconds. */
const FETCH_TIMEOUT = 3_000
/** The pause after a fetch, successful or not, in milliseconds: unknown keys in tokens must not flood the key server. */
const COOLDOWN = 10_000
/** When keys are fetched again though they are known, in milliseconds: so that withdrawn keys go. */
const KEYS_TTL = 600_000

/**
 * Verifies the JSON Web Tokens of an issuer (RFC 7519, RFC 8725). The claim `sub` is the account and `scope` the scopes:
 * the issuer is trusted with both.
 */
export function verifyJsonWebToken({ issuer, audience, keysUrl }: TokenIssuer, logger: Logger): FindToken {
  const findKey = createIssuerKeys(keysUrl, logger)
  const options: jose.JWTVerifyOptions = {
    algorithms: SIGNATURE_ALGORITHMS,
    issuer,
    audience,
    requiredClaims: ['exp'],
    clockTolerance: CLOCK_TOLERANCE,
  }

  return async (token) => {
    if (!isCanonical(token)) return 'tokenInvalid'
    try {
      const { payload, protectedHeader } = await jose.jwtVerify(token, findKey, options)
      // Of these, jose has checked the type of exp only.
      const { sub: account, scope, exp = 0 } = payload
      if (!isAccessToken(protectedHeader.typ)) return 'tokenInvalid'
      if (typeof account !== 'string' || !isAccountName(account)) return 'tokenInvalid'
      const scopes = knownScopes(typeof scope === 'string' ? scope.split(' ') : [])
      return { identity: { account, tokenId: `${issuer} ${account}`, scopes }, expiresAt: exp * 1000 }
    } catch (error) {
      if (error instanceof HttpError) throw error
      // Which rule a token breaks would only help forgers; and the error holds its claims. A key that cannot be used, such as
      // a short one, is not a fault of the server either: a client chooses which key its token names.
      return error instanceof jose.errors.JWTExpired ? 'tokenEnded' : 'tokenInvalid'
    }
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

/**
 * Fetches and caches the public keys of a token issuer (RFC 7517). Requests share one fetch. jose's cache never expires here:
 * known keys are used while the issuer is down, and a refresh delays no request. jose's cooldown would not cover a fetch
 * that fails.
 *
 * @returns a function that throws an HttpError (503) until a key set was fetched, and then another error for an unknown or
 *   malformed key
 */
function createIssuerKeys(url: string, logger: Logger): (header: jose.JWSHeaderParameters) => Promise<jose.CryptoKey> {
  const forever = { cacheMaxAge: Number.POSITIVE_INFINITY, cooldownDuration: Number.POSITIVE_INFINITY }
  const keys = jose.createRemoteJWKSet(new URL(url), { timeoutDuration: FETCH_TIMEOUT, ...forever })
  let running: Promise<void> | undefined
  let fetchedAt: number | undefined
  let endedAt = Number.NEGATIVE_INFINITY

  async function fetchKeys(): Promise<void> {
    try {
      await keys.reload()
      fetchedAt = performance.now()
    } catch (error) {
      logger.warn({ reason: explain(error) }, 'the keys of JWT_ISSUER cannot be fetched from JWT_JWKS_URL')
    }
    endedAt = performance.now()
    running = undefined
  }

  /** Waits for the fetch in progress, or starts one unless it is too early. */
  async function refresh(): Promise<void> {
    if (!running && performance.now() >= endedAt + COOLDOWN) running = fetchKeys()
    await running
  }

  function unavailable(): HttpError {
    const wait = Math.max(1, Math.ceil((COOLDOWN - (performance.now() - endedAt)) / 1000))
    const message = "The token issuer's keys are currently unavailable. Retry the request."
    // Without a cause, which would be logged per request: the failed fetch is logged already.
    return shed('issuer-keys', message, { 'Retry-After': String(wait) })
  }

  return async (header) => {
    if (fetchedAt === undefined) await refresh()
    if (fetchedAt === undefined) throw unavailable()
    // In the background: no request waits for newer keys.
    if (performance.now() >= fetchedAt + KEYS_TTL) void refresh()
    return keys(header).catch(async (error) => {
      if (!(error instanceof jose.errors.JWKSNoMatchingKey)) throw error
      await refresh()
      return keys(header)
    })
  }
}

/** Explains why a fetch failed: `fetch` puts the reason into the cause, for several addresses as a code alone. */
function explain(error: unknown): string {
  const { message, cause } = error as { message?: string; cause?: { message?: string; code?: string } }
  return [message, cause?.message || cause?.code].filter(Boolean).join(': ')
}

import type { Scope } from '@plant-store/contract'
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
const SIGNATURE_ALGORITHMS = ['RS256', 'PS256', 'ES256', 'Ed25519', 'EdDSA']
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
/** How long rejected tokens are not logged after one that was, in milliseconds. */
const LOG_INTERVAL = 10_000

/**
 * Verifies the JSON Web Tokens of an issuer (RFC 7519, RFC 8725). The claim `sub` is the account, `scope` or `scp` has the
 * scopes: the issuer is trusted with both.
 */
export function verifyJsonWebToken({ issuer, audience, keysUrl }: TokenIssuer, logger: Logger): FindToken {
  const keys = createIssuerKeys(keysUrl, logger)
  const logRejected = createRejectionLog(logger)
  const options: jose.JWTVerifyOptions = {
    algorithms: SIGNATURE_ALGORITHMS,
    issuer,
    audience,
    requiredClaims: ['exp'],
    clockTolerance: CLOCK_TOLERANCE,
  }

  async function verify(token: string): Promise<jose.JWTVerifyResult> {
    try {
      return await jose.jwtVerify(token, keys.find, options)
    } catch (error) {
      if (!isUnknownKey(error)) throw error
      await keys.refresh()
      return jose.jwtVerify(token, keys.find, options)
    }
  }

  return async (token) => {
    try {
      if (!isCanonical(token)) throw new Error('the parts are not in canonical base64url')
      const { payload, protectedHeader } = await verify(token)
      // Of these, jose has checked the type of exp only.
      const { sub: account, exp = 0 } = payload
      if (!isAccessToken(protectedHeader.typ)) throw new Error('unexpected "typ" header value')
      if (typeof account !== 'string' || !isAccountName(account)) throw new Error('"sub" claim is not an account name')
      const tokenId = `${issuer} ${account}`
      return { identity: { account, tokenId, scopes: readScopes(payload) }, expiresAt: exp * 1000 }
    } catch (error) {
      if (error instanceof HttpError) throw error
      if (error instanceof jose.errors.JWTExpired) return 'tokenEnded'
      // Which rule a token breaks would only help forgers. A key that cannot be used, such as a short one, is not a fault of
      // the server either: a client chooses which key its token names.
      logRejected(error as Error)
      return 'tokenInvalid'
    }
  }
}

/** Whether the issuer may have a newer key for a token: with another id, or without one in place of the key that is known. */
function isUnknownKey(error: unknown): boolean {
  return error instanceof jose.errors.JWKSNoMatchingKey || error instanceof jose.errors.JWSSignatureVerificationFailed
}

/** Logs why a token is rejected: without it, a wrong JWT_AUDIENCE is hard to find. */
function createRejectionLog(logger: Logger): (error: Error) => void {
  let silentUntil = Number.NEGATIVE_INFINITY
  return (error) => {
    if (performance.now() < silentUntil) return
    silentUntil = performance.now() + LOG_INTERVAL
    // The message of this one has text of the token.
    const reason = error instanceof jose.errors.JOSENotSupported ? error.code : error.message
    logger.info({ event: 'token rejected', reason }, 'a JSON Web Token was rejected')
  }
}

/** Reads `scope` (RFC 9068), or `scp` of Entra ID and Okta: names separated by spaces, or a list of them. */
function readScopes({ scope, scp }: jose.JWTPayload): Scope[] {
  return knownScopes([scope ?? scp].flat().join(' ').split(' '))
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
 */
function createIssuerKeys(url: string, logger: Logger) {
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

  /**
   * Finds the key of a token. Keys that are being replaced may have no id, or the same one: then it is the one that signed.
   *
   * @throws HttpError (503) until a key set was fetched; then another error for an unknown or malformed key
   */
  async function find(header: jose.JWSHeaderParameters, token: jose.FlattenedJWSInput): Promise<jose.CryptoKey> {
    if (fetchedAt === undefined) await refresh()
    if (fetchedAt === undefined) throw unavailable()
    // In the background: no request waits for newer keys.
    if (performance.now() >= fetchedAt + KEYS_TTL) void refresh()
    try {
      return await keys(header)
    } catch (error) {
      if (!(error instanceof jose.errors.JWKSMultipleMatchingKeys)) throw error
      return findSigner(error, token)
    }
  }

  return { find, refresh }
}

async function findSigner(keys: AsyncIterable<jose.CryptoKey>, token: jose.FlattenedJWSInput): Promise<jose.CryptoKey> {
  for await (const key of keys) {
    const isSigner = await jose.flattenedVerify(token, key).then(
      () => true,
      () => false,
    )
    if (isSigner) return key
  }
  throw new jose.errors.JWSSignatureVerificationFailed()
}

/** Explains why a fetch failed: `fetch` puts the reason into the cause, for several addresses as a code alone. */
function explain(error: unknown): string {
  const { message, cause } = error as { message?: string; cause?: { message?: string; code?: string } }
  return [message, cause?.message || cause?.code].filter(Boolean).join(': ')
}

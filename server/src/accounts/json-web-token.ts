import type { Scope } from '@plant-store/contract'
import * as jose from 'jose'
import { LRUCache } from 'lru-cache'
import type { Logger } from 'pino'
import { HttpError, unavailable } from '../requests/errors.ts'
import { DAY } from '../settings.ts'
import { events } from '../telemetry/events.ts'
import type { FindToken } from './authentication.ts'
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
 * Access tokens say `at+jwt` (RFC 9068), or no more than `JWT`. Others of the issuer say what
 * they are for: `logout+jwt`.
 */
const TOKEN_TYPES = ['at+jwt', 'jwt']
/** How far the issuer's clock and ours may differ, in seconds. */
const CLOCK_TOLERANCE = 5
/** How long the key server may take for its whole response, in milliseconds. */
const FETCH_TIMEOUT = 3_000
/** The size of its response, in bytes: key sets have a few kilobytes, and jose would read any size. */
const MAX_KEYS_SIZE = 256 * 1024
/** For how long after a fetch no token makes the keys be fetched again, in milliseconds. */
const COOLDOWN = 10_000
/** How long fetched keys are used, in milliseconds: an outage of the issuer is survived. */
const KEYS_TTL = DAY
/** Errors of a key, which the issuer may have replaced since, rather than of a token. */
const KEY_ERRORS = ['ERR_JWKS_INVALID', 'ERR_JWKS_NO_MATCHING_KEY', 'ERR_JWS_SIGNATURE_VERIFICATION_FAILED']
/** The end of the year 9999, in seconds since 1970. Times after it are in milliseconds by mistake. */
const MAX_TIME = 253_402_300_799
/**
 * They have `client_id` instead, which names who asks and not which service is meant, and scopes such as `plants/read`.
 */
const NO_AUDIENCE = 'access tokens of Amazon Cognito, which have none, are not supported'
const KEYS_UNAVAILABLE = "The token issuer's keys are currently unavailable. Retry the request."
/** How long a reason is not logged after it was, in milliseconds. */
const LOG_INTERVAL = 10_000

/**
 * Verifies the JSON Web Tokens of an issuer (RFC 7519, RFC 8725). The claim `sub` is the account, `scope` or `scp` has
 * the scopes: the issuer is trusted with both.
 */
export function createJsonWebTokenLookup(trusted: TokenIssuer, logger: Logger): FindToken {
  const { issuer, audience, keysUrl } = trusted
  const keys = createIssuerKeys(keysUrl)
  const logged = new LRUCache<string, true>({ max: 100, ttl: LOG_INTERVAL })
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
      // Without a code of jose: a key that cannot be imported, or is too short.
      const isOfKey = !(error instanceof jose.errors.JOSEError) || KEY_ERRORS.includes(error.code)
      if (error instanceof HttpError || !isOfKey || keys.age() < COOLDOWN) throw error
      await keys.reload()
      return jose.jwtVerify(token, keys.find, options)
    }
  }

  /** Logs why a token is rejected: without it, a wrong JWT_AUDIENCE is hard to find. */
  function log(error: unknown): void {
    const reason = explain(error)
    if (logged.has(reason)) return
    logged.set(reason, true)
    const claims = error instanceof jose.errors.JWTClaimValidationFailed ? describeClaims(error.payload, trusted) : {}
    logger.info({ event: 'token rejected', reason, ...claims }, 'a JSON Web Token was rejected')
  }

  return async (token) => {
    try {
      if (!isCanonical(token)) throw new Error('the parts are not in canonical base64url')
      const { payload, protectedHeader } = await verify(token)
      checkTimes(payload)
      // Of these, jose has checked the type of exp only.
      const { sub: account, exp = 0 } = payload
      if (!isAccessToken(protectedHeader.typ)) throw new Error('unexpected "typ" header value')
      if (typeof account !== 'string' || !isAccountName(account)) throw new Error('"sub" claim is not an account name')
      const tokenId = `${issuer} ${account}`
      return { identity: { account, tokenId, scopes: readScopes(payload) }, expiresAt: exp * 1000 }
    } catch (error) {
      if (error instanceof HttpError) throw error
      if (error instanceof jose.errors.JWTExpired) return 'tokenEnded'
      // Which rule a token breaks would only help forgers. A key that cannot be used, such as a short one, is not a
      // fault of the server either: a client chooses which key its token names.
      log(error)
      return 'tokenInvalid'
    }
  }
}

/** Creates the keys of an issuer. jose measures durations with the wall clock, which may step back: these do not. */
function createIssuerKeys(url: string) {
  const keys = jose.createRemoteJWKSet(new URL(url), {
    timeoutDuration: FETCH_TIMEOUT,
    cooldownDuration: Number.POSITIVE_INFINITY,
    cacheMaxAge: Number.POSITIVE_INFINITY,
    [jose.customFetch]: fetchKeys,
  })
  let fetchedAt = Number.NEGATIVE_INFINITY
  const age = () => performance.now() - fetchedAt

  async function reload(): Promise<void> {
    try {
      await keys.reload()
    } catch (cause) {
      events.emit('requestRejected', 'issuer-keys')
      const error = new Error('The keys of JWT_ISSUER cannot be fetched from JWT_JWKS_URL', { cause })
      throw unavailable(KEYS_UNAVAILABLE, COOLDOWN / 1_000, error)
    }
    fetchedAt = performance.now()
  }

  /**
   * Finds the key of a token. Keys that are being replaced may have no id, or the same one:
   * then it is the one that signed.
   */
  async function find(header: jose.JWSHeaderParameters, token: jose.FlattenedJWSInput): Promise<jose.CryptoKey> {
    if (age() >= KEYS_TTL) await reload()
    try {
      return await keys(header)
    } catch (error) {
      if (!(error instanceof jose.errors.JWKSMultipleMatchingKeys)) throw error
      for await (const key of error) {
        const verified = await jose.flattenedVerify(token, key).catch(() => undefined)
        if (verified) return key
      }
      throw new jose.errors.JWSSignatureVerificationFailed()
    }
  }

  return { age, find, reload }
}

function explain(error: unknown): string {
  // The message of this one has text of the token.
  const message = error instanceof jose.errors.JOSENotSupported ? error.code : (error as Error).message
  return message.startsWith('missing required "aud"') ? `${message}; ${NO_AUDIENCE}` : message
}

/** Checks that times are in seconds. */
function checkTimes(payload: jose.JWTPayload): void {
  const claim = (['exp', 'nbf', 'iat'] as const).find((name) => Math.abs(payload[name] ?? 0) > MAX_TIME)
  if (claim === undefined) return
  const message = `"${claim}" claim is not in seconds, or after the year 9999`
  throw new jose.errors.JWTClaimValidationFailed(message, payload, claim)
}

/** Describes the claims that were expected, and those that the issuer has signed. */
function describeClaims({ iss, aud, exp, nbf, iat }: jose.JWTPayload, { issuer, audience }: TokenIssuer): object {
  const isNear = (came: unknown, expected: string) => `${came}/` === expected || came === `${expected}/`
  const hasHint = isNear(iss, issuer) || [aud].flat().some((each) => isNear(each, audience))
  const claims = { expected: { iss: issuer, aud: audience }, received: { iss, aud, exp, nbf, iat } }
  return hasHint ? { ...claims, hint: 'only the last slash differs' } : claims
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
 * Whether each part is base64url as in RFC 7515 section 2. Decoders also accept padding, the alphabet of plain base64
 * and any value of the unused last bits, so that one token would have many spellings and fill the cache.
 */
function isCanonical(token: string): boolean {
  return token.split('.').every((part) => Buffer.from(part, 'base64url').toString('base64url') === part)
}

/** Fetches the keys, and leaves out what is not an object: jose would reject the whole set. */
async function fetchKeys(url: string, options: RequestInit): Promise<Response> {
  const response = await fetch(url, options)
  const location = response.headers.get('location')
  if (location !== null) throw new Error(`it responds ${response.status}, a redirect to ${location}: set that one`)
  if (!response.ok) throw new Error(`it responds ${response.status}`)
  const chunks: Uint8Array[] = []
  let size = 0
  // Counted as they are decompressed.
  for await (const chunk of response.body ?? []) {
    size += chunk.length
    if (size > MAX_KEYS_SIZE) throw new Error(`the response has more than ${MAX_KEYS_SIZE} bytes`)
    chunks.push(chunk)
  }
  const set = JSON.parse(Buffer.concat(chunks).toString())
  const isObject = (key: unknown) => typeof key === 'object' && key !== null && !Array.isArray(key)
  return Response.json(Array.isArray(set?.keys) ? { keys: set.keys.filter(isObject) } : set)
}

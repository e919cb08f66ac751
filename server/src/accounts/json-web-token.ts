import type { Scope } from '@plant-store/contract'
import * as jose from 'jose'
import type { Logger } from 'pino'
import { unavailable } from '../http/errors.ts'
import { events } from '../telemetry/events.ts'
import { oncePer } from '../telemetry/log.ts'
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
const KEYS_TTL = 86_400_000
/**
 * They have `client_id` instead, which names who asks and not which service is meant, and scopes such as `plants/read`.
 */
const NO_AUDIENCE = 'access tokens of Amazon Cognito, which have none, are not supported'
/** The keys cannot be fetched, are not a key set, or arrive too late. */
const FETCH_ERRORS = ['ERR_JOSE_GENERIC', 'ERR_JWKS_INVALID', 'ERR_JWKS_TIMEOUT']
/** How long rejected tokens are not logged after one that was, in milliseconds. */
const LOG_INTERVAL = 10_000

/**
 * Verifies the JSON Web Tokens of an issuer (RFC 7519, RFC 8725). The claim `sub` is the account, `scope` or `scp` has
 * the scopes: the issuer is trusted with both.
 */
export function createJsonWebTokenLookup({ issuer, audience, keysUrl }: TokenIssuer, logger: Logger): FindToken {
  const keys = jose.createRemoteJWKSet(new URL(keysUrl), {
    timeoutDuration: FETCH_TIMEOUT,
    cooldownDuration: COOLDOWN,
    cacheMaxAge: KEYS_TTL,
    [jose.customFetch]: fetchKeys,
  })
  const mayLog = oncePer(LOG_INTERVAL)
  const options: jose.JWTVerifyOptions = {
    algorithms: SIGNATURE_ALGORITHMS,
    issuer,
    audience,
    requiredClaims: ['exp'],
    clockTolerance: CLOCK_TOLERANCE,
  }

  /**
   * Finds the key of a token. Keys that are being replaced may have no id, or the same one:
   * then it is the one that signed.
   */
  async function findKey(header: jose.JWSHeaderParameters, token: jose.FlattenedJWSInput): Promise<jose.CryptoKey> {
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

  async function verify(token: string): Promise<jose.JWTVerifyResult> {
    try {
      return await jose.jwtVerify(token, findKey, options)
    } catch (error) {
      // The issuer may have replaced a key by one with the same id. One with a new id is fetched by jose itself.
      if (!(error instanceof jose.errors.JWSSignatureVerificationFailed) || keys.coolingDown) throw error
      await keys.reload()
      return jose.jwtVerify(token, findKey, options)
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
      if (error instanceof jose.errors.JOSEError && FETCH_ERRORS.includes(error.code)) {
        const message = "The token issuer's keys are currently unavailable. Retry the request."
        events.emit('requestRejected', 'issuer-keys')
        throw unavailable(message, COOLDOWN / 1_000, error)
      }
      if (error instanceof jose.errors.JWTExpired) return 'tokenEnded'
      // Which rule a token breaks would only help forgers. A key that cannot be used, such as a short one, is not a
      // fault of the server either: a client chooses which key its token names.
      if (mayLog()) logger.info({ event: 'token rejected', reason: explain(error) }, 'a JSON Web Token was rejected')
      return 'tokenInvalid'
    }
  }
}

/** Says why a token is rejected: without it, a wrong JWT_AUDIENCE is hard to find. */
function explain(error: unknown): string {
  // The message of this one has text of the token.
  const message = error instanceof jose.errors.JOSENotSupported ? error.code : (error as Error).message
  return message.startsWith('missing required "aud"') ? `${message}; ${NO_AUDIENCE}` : message
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

/** Fetches the keys. The error is one of jose, as that of a response that is not a key set. */
async function fetchKeys(url: string, options: RequestInit): Promise<Response> {
  try {
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
    return new Response(Buffer.concat(chunks), { status: response.status })
  } catch (cause) {
    throw new jose.errors.JOSEError('The keys of JWT_ISSUER cannot be fetched from JWT_JWKS_URL', { cause })
  }
}

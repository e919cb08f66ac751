import * as jose from 'jose'
import type { Logger } from 'pino'
import { DAY } from '../durations.ts'
import { unavailable } from '../requests/errors.ts'
import { events } from '../telemetry/events.ts'

/** How long the key server may take for its whole response, in milliseconds. */
const FETCH_TIMEOUT = 3_000
/** How long after a fetch, also one that failed, a token with an unknown key causes no other, in milliseconds. */
const COOLDOWN = 10_000
/** How long after a fetch, also one that failed, known keys are fetched again, in milliseconds. */
const REFRESH_INTERVAL = 600_000
/** What jose throws where the keys cannot be fetched; its other errors are of the token, or of the key that it names. */
const FETCH_ERRORS = ['ERR_JOSE_GENERIC', 'ERR_JWKS_TIMEOUT', 'ERR_JWKS_INVALID']
const UNAVAILABLE = "The token issuer's keys are currently unavailable. Retry the request."

/**
 * Creates the lookup of a token's key in an issuer's JSON Web Key Set. While tokens are verified, the keys are
 * refreshed in the background, so that an outage of the issuer, of up to a day, affects only tokens with unknown keys.
 *
 * @returns a function that throws an HttpError, a 503, if the keys cannot be fetched
 */
export function createIssuerKeys(url: string, logger: Logger): jose.JWTVerifyGetKey {
  let fetchedAt = Number.NEGATIVE_INFINITY
  const keys = jose.createRemoteJWKSet(new URL(url), {
    timeoutDuration: FETCH_TIMEOUT,
    cooldownDuration: COOLDOWN,
    cacheMaxAge: DAY,
    // jose's own cooldown begins with a success: while the issuer is down, each forged token would be a fetch.
    async [jose.customFetch](...request) {
      if (Date.now() < fetchedAt + COOLDOWN) throw new jose.errors.JOSEError('a fetch failed within the last 10 s')
      fetchedAt = Date.now()
      return fetch(...request).catch((cause) => {
        throw new jose.errors.JOSEError('the request failed', { cause })
      })
    },
  })

  return async (header, token) => {
    if (keys.fresh && Date.now() >= fetchedAt + REFRESH_INTERVAL) {
      keys.reload().catch((err) => logger.warn({ err }, 'the keys of JWT_ISSUER cannot be refreshed'))
    }
    try {
      return await keys(header, token)
    } catch (error) {
      if (!(error instanceof jose.errors.JOSEError)) throw error
      if (error instanceof jose.errors.JWKSMultipleMatchingKeys) return findSigner(error, token)
      if (!FETCH_ERRORS.includes(error.code)) throw error
      events.emit('requestRejected', 'issuer-keys')
      const cause = new Error('The keys of JWT_ISSUER cannot be fetched from JWT_JWKS_URL', { cause: error })
      throw unavailable(UNAVAILABLE, COOLDOWN / 1_000, cause)
    }
  }
}

/** Finds the key that signed a token: keys that are being replaced may have no id, or the same one. */
async function findSigner(
  candidates: jose.errors.JWKSMultipleMatchingKeys,
  token: jose.FlattenedJWSInput,
): Promise<jose.CryptoKey> {
  for await (const key of candidates) {
    const verified = await jose.flattenedVerify(token, key).catch(() => undefined)
    if (verified) return key
  }
  throw new jose.errors.JWSSignatureVerificationFailed()
}

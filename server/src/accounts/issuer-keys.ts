import { type CryptoKey, createRemoteJWKSet, errors, type JWSHeaderParameters } from 'jose'
import type { Logger } from 'pino'
import { type HttpError, shed } from '../http-error.ts'

/** How long the key server may take for its whole response, in milliseconds. */
const FETCH_TIMEOUT = 3_000
/** The pause after a fetch, successful or not, in milliseconds: unknown keys in tokens must not flood the key server. */
const COOLDOWN = 10_000
/** When keys are fetched again though they are known, in milliseconds: so that withdrawn keys go. */
const TTL = 600_000

/**
 * Fetches and caches the public keys of a token issuer (RFC 7517). Requests share one fetch. jose's cache never expires here:
 * known keys are used while the issuer is down, and a refresh delays no request. jose's cooldown would not cover a fetch
 * that fails.
 *
 * @returns a function that throws an HttpError (503) until a key set was fetched, and then another error for an unknown or
 *   malformed key
 */
export function createIssuerKeys(url: string, logger: Logger): (header: JWSHeaderParameters) => Promise<CryptoKey> {
  const forever = { cacheMaxAge: Number.POSITIVE_INFINITY, cooldownDuration: Number.POSITIVE_INFINITY }
  const keys = createRemoteJWKSet(new URL(url), { timeoutDuration: FETCH_TIMEOUT, ...forever })
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
    if (performance.now() >= fetchedAt + TTL) void refresh()
    return keys(header).catch(async (error) => {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw error
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

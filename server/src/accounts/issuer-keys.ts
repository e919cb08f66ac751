import { type CryptoKey, createLocalJWKSet, errors, type JWSHeaderParameters } from 'jose'
import type { Logger } from 'pino'
import { Failure } from '../failure.ts'
import { requestRejected } from '../telemetry/events.ts'
import { fetchKeySet } from './fetch-key-set.ts'

/** The pause after a fetch, successful or not, in milliseconds: unknown keys in tokens must not flood the key server. */
const COOLDOWN = 10_000
/** When keys are fetched again though they are known, in milliseconds: so that withdrawn keys go. */
const TTL = 600_000
/** How many malformed keys a log line names. */
const MAX_NAMED = 10
/** The shortest RSA key that is accepted, in bits (RFC 7518 section 3.3). */
const MIN_RSA_LENGTH = 2048

/** Finds the key that the header of a token names. */
export type FindKey = (header: JWSHeaderParameters) => Promise<CryptoKey>

/**
 * Fetches and caches the public keys of a token issuer (RFC 7517). Requests share one fetch, and known keys are used
 * while the issuer is down. jose's `createRemoteJWKSet` does not fit: it has no cooldown after a failed fetch, stops
 * using known keys at its `cacheMaxAge`, and makes requests wait for a fetch that only refreshes.
 *
 * @returns a function that throws a Failure (503) until a key set was fetched, and then an error of jose for an unknown
 *   key: which key a token names is the client's choice, so it must not look like a fault of the server
 */
export function createIssuerKeys(url: string, logger: Logger): FindKey {
  let findCached: FindKey | undefined
  let running: Promise<void> | undefined
  let fetchedAt = Number.NEGATIVE_INFINITY
  let endedAt = Number.NEGATIVE_INFINITY

  async function fetchKeys(): Promise<void> {
    try {
      const { keys, malformed } = await fetchKeySet(url)
      findCached = createLocalJWKSet({ keys })
      fetchedAt = performance.now()
      if (malformed.length > 0) warnOfMalformed(malformed)
    } catch (error) {
      logger.warn({ reason: explain(error) }, 'the keys of JWT_ISSUER cannot be fetched from JWT_JWKS_URL')
    }
    endedAt = performance.now()
    running = undefined
  }

  function warnOfMalformed(kids: unknown[]): void {
    const fields = { malformed: kids.length, kids: kids.slice(0, MAX_NAMED) }
    logger.warn(fields, 'JWT_JWKS_URL publishes malformed keys; tokens that name them are rejected')
  }

  /** Waits for the fetch in progress, or starts one unless it is too early. */
  async function refresh(): Promise<void> {
    if (!running && performance.now() >= endedAt + COOLDOWN) running = fetchKeys()
    await running
  }

  async function getCached(header: JWSHeaderParameters): Promise<CryptoKey | undefined> {
    try {
      return await findCached?.(header)
    } catch (error) {
      if (error instanceof errors.JWKSNoMatchingKey) return undefined
      throw error
    }
  }

  function unavailable(): Failure {
    requestRejected.publish('issuer-keys')
    const wait = Math.max(1, Math.ceil((endedAt + COOLDOWN - performance.now()) / 1000))
    // Without a cause, which would be logged per request: the failed fetch is logged already.
    return new Failure('unavailable', "The token issuer's keys are currently unavailable. Retry the request.", {
      headers: { 'Retry-After': String(wait) },
    })
  }

  async function find(header: JWSHeaderParameters): Promise<CryptoKey> {
    const cached = await getCached(header)
    if (cached) {
      // In the background: the request does not wait for it.
      if (performance.now() >= fetchedAt + TTL) void refresh()
      return cached
    }
    await refresh()
    const key = await getCached(header)
    if (key) return key
    throw findCached ? new errors.JWKSNoMatchingKey() : unavailable()
  }

  return async (header) => rejectShort(await find(header))
}

/** Explains why a fetch failed: `fetch` puts the reason into the cause, for several addresses as a code alone. */
function explain(error: unknown): string {
  const { message, cause } = error as { message?: string; cause?: { message?: string; code?: string } }
  return [message, cause?.message || cause?.code].filter(Boolean).join(': ')
}

/** jose throws a TypeError for such a key, which would look like a fault of the server. */
function rejectShort(key: CryptoKey): CryptoKey {
  const { modulusLength = MIN_RSA_LENGTH } = key.algorithm as { modulusLength?: number }
  if (modulusLength < MIN_RSA_LENGTH) throw new errors.JOSENotSupported('the RSA key is too short')
  return key
}

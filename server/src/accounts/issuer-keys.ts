import { type CryptoKey, createLocalJWKSet, errors, type JWSHeaderParameters } from 'jose'
import type { Logger } from 'pino'
import { Failure } from '../failure.ts'
import { requestRejected } from '../telemetry/events.ts'
import { fetchKeySet } from './fetch-key-set.ts'

/**
 * How long after a fetch, good or bad, the next may begin: tokens of strangers must not make us hammer the key server.
 */
const COOL_DOWN = 10_000
/** After how long the keys are fetched again although they do, so that one the issuer has withdrawn is let go. */
const FRESH_FOR = 600_000
/** How many malformed keys a line of the log names. */
const MAXIMUM_NAMED = 10

/** The shortest RSA key whose signatures count, in bits (RFC 7518, section 3.3). */
const MINIMUM_RSA_LENGTH = 2048

/** Finds the key that the header of a token names. */
export type FindKey = (header: JWSHeaderParameters) => Promise<CryptoKey>

/**
 * Finds the public keys of an issuer of tokens (RFC 7517) and keeps them. A key that is not among them has them fetched
 * again, once for all requests that wait for it; while that fails, those that are known go on being used, however long
 * it takes. jose's own remote key set does not do: it waits for no cool-down after a fetch that failed.
 *
 * @returns a function that throws a Failure (503) while no key set was ever fetched, and an error of jose where the last
 *   one lacks the key: which key a token names is the client's choice, so that it must not look like a fault of ours
 */
export function createIssuerKeys(url: string, logger: Logger): FindKey {
  let findKnown: FindKey | undefined
  let running: Promise<void> | undefined
  let fetchedAt = Number.NEGATIVE_INFINITY
  let endedAt = Number.NEGATIVE_INFINITY

  async function fetchAgain(): Promise<void> {
    try {
      const { keys, malformed } = await fetchKeySet(url)
      findKnown = createLocalJWKSet({ keys })
      fetchedAt = performance.now()
      if (malformed.length > 0) warnOfMalformed(malformed)
    } catch (error) {
      logger.warn({ reason: explain(error) }, 'the keys of JWT_ISSUER cannot be fetched from JWT_JWKS_URL')
    }
    endedAt = performance.now()
    running = undefined
  }

  function warnOfMalformed(kids: unknown[]): void {
    const fields = { malformed: kids.length, kids: kids.slice(0, MAXIMUM_NAMED) }
    logger.warn(fields, 'JWT_JWKS_URL publishes malformed keys; tokens that name them are rejected')
  }

  /** One fetch at a time; none while it is too early for the next. */
  async function refresh(): Promise<void> {
    if (!running && performance.now() >= endedAt + COOL_DOWN) running = fetchAgain()
    await running
  }

  async function recall(header: JWSHeaderParameters): Promise<CryptoKey | undefined> {
    try {
      return await findKnown?.(header)
    } catch (error) {
      if (error instanceof errors.JWKSNoMatchingKey) return undefined
      throw error
    }
  }

  function unavailable(): Failure {
    requestRejected.publish('issuer-keys')
    const wait = Math.max(1, Math.ceil((endedAt + COOL_DOWN - performance.now()) / 1000))
    // Without a cause, which would be logged for every request: the failed fetch has told it.
    return new Failure('unavailable', "The token issuer's keys are currently unavailable. Retry the request.", {
      headers: { 'Retry-After': String(wait) },
    })
  }

  async function find(header: JWSHeaderParameters): Promise<CryptoKey> {
    const known = await recall(header)
    if (known) {
      // Nobody waits for keys that are there.
      if (performance.now() >= fetchedAt + FRESH_FOR) void refresh()
      return known
    }
    await refresh()
    const key = await recall(header)
    if (key) return key
    throw findKnown ? new errors.JWKSNoMatchingKey() : unavailable()
  }

  return async (header) => refuseShort(await find(header))
}

/** Why a fetch failed, in one line: `fetch` tells it in the cause of its error, and with a code alone for several addresses. */
function explain(error: unknown): string {
  const { message, cause } = error as { message?: string; cause?: { message?: string; code?: string } }
  return [message, cause?.message || cause?.code].filter(Boolean).join(': ')
}

/** jose throws a TypeError where it verifies with such a key, which looks like a mistake of ours. */
function refuseShort(key: CryptoKey): CryptoKey {
  const { modulusLength = MINIMUM_RSA_LENGTH } = key.algorithm as { modulusLength?: number }
  if (modulusLength < MINIMUM_RSA_LENGTH) throw new errors.JOSENotSupported('the RSA key is too short')
  return key
}

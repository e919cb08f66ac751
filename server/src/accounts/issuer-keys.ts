import { type CryptoKey, createLocalJWKSet, errors, type JSONWebKeySet, type JWSHeaderParameters } from 'jose'
import type { Logger } from 'pino'
import { Failure } from '../http/failure.ts'

/** How long the key server may take for its whole answer, in milliseconds. */
const FETCH_TIMEOUT = 3_000
/**
 * How long after a fetch, good or bad, the next may begin: tokens of strangers must not make us hammer the key server.
 */
const COOL_DOWN = 10_000
/** After how long the keys are fetched again although they do, so that one the issuer has withdrawn is let go. */
const FRESH_FOR = 600_000
/** The largest answer of the key server that is read, in bytes. */
const MAXIMUM_SIZE = 256 * 1024

/** The shortest RSA key whose signatures count, in bits (RFC 7518, section 3.3). */
const MINIMUM_RSA_LENGTH = 2048

/** Finds the key that the header of a token names. */
export type FindKey = (header: JWSHeaderParameters) => Promise<CryptoKey>

/**
 * Finds the public keys of an issuer of tokens (RFC 7517) and keeps them. A key that is not among them has them fetched
 * again; while that fails, those that are known go on being used, however long it takes. jose's own remote key set does
 * not do: it waits for no cool-down after a fetch that failed.
 *
 * @returns a function that throws a Failure (503) where a key cannot be had now, and an error of jose where there is
 *   none
 */
export function createIssuerKeys(url: string, logger: Logger): FindKey {
  let findKnown: FindKey | undefined
  let problem: unknown
  let running: Promise<void> | undefined
  let fetchedAt = Number.NEGATIVE_INFINITY
  let endedAt = Number.NEGATIVE_INFINITY

  async function fetchAgain(): Promise<void> {
    try {
      findKnown = createLocalJWKSet(await fetchKeys(url))
      fetchedAt = performance.now()
      problem = undefined
    } catch (error) {
      problem = error
      logger.warn({ err: error }, 'the keys of JWT_ISSUER cannot be fetched from JWT_JWKS_URL')
    }
    endedAt = performance.now()
    running = undefined
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
      // Which of several is meant, the token does not say.
      if (error instanceof errors.JWKSMultipleMatchingKeys) throw error
      problem = error
      return undefined
    }
  }

  function unavailable(cause: unknown): Failure {
    const wait = Math.max(1, Math.ceil((endedAt + COOL_DOWN - performance.now()) / 1000))
    return new Failure('unavailable', "The keys of the token's issuer cannot be had now. Send the request again.", {
      headers: { 'Retry-After': String(wait) },
      cause,
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
    throw problem === undefined ? new errors.JWKSNoMatchingKey() : unavailable(problem)
  }

  return async (header) => refuseShort(await find(header))
}

/** jose throws a TypeError where it verifies with such a key, which looks like a mistake of ours. */
function refuseShort(key: CryptoKey): CryptoKey {
  const { modulusLength = MINIMUM_RSA_LENGTH } = key.algorithm as { modulusLength?: number }
  if (modulusLength < MINIMUM_RSA_LENGTH) throw new errors.JOSENotSupported('the RSA key is too short')
  return key
}

async function fetchKeys(url: string): Promise<JSONWebKeySet> {
  const response = await fetch(url, {
    headers: { accept: 'application/jwk-set+json, application/json' },
    redirect: 'error',
    signal: AbortSignal.timeout(FETCH_TIMEOUT),
  })
  if (response.status !== 200) {
    await response.body?.cancel()
    throw new Error(`the key server answers ${response.status}`)
  }
  const text = await readText(response)
  try {
    return JSON.parse(text)
  } catch {
    // Without the cause, which quotes what may be anything.
    throw new Error('the key server answers something other than JSON')
  }
}

async function readText(response: Response): Promise<string> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of response.body ?? []) {
    size += chunk.length
    if (size > MAXIMUM_SIZE) throw new Error(`the key server answers more than ${MAXIMUM_SIZE} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

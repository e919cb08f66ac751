import { createLocalJWKSet, errors, type JWK } from 'jose'

/** Signatures by private keys only: an HMAC could be made with the public key, and `none` by any client. */
export const SIGNATURE_ALGORITHMS = ['RS256', 'PS256', 'ES256', 'EdDSA']

/** How long the key server may take for its whole response, in milliseconds. */
const FETCH_TIMEOUT = 3_000
/** The largest response that is accepted, in bytes. */
const MAX_SIZE = 256 * 1024

/** The keys that an issuer publishes. */
export interface KeySet {
  keys: JWK[]
  /** The `kid` of each malformed key; undefined if it has none. */
  malformed: unknown[]
}

/**
 * Fetches a JSON Web Key Set (RFC 7517) and drops malformed keys, so that they do not affect others.
 *
 * @throws Error if the response is not a key set, or has malformed keys only
 */
export async function fetchKeySet(url: string): Promise<KeySet> {
  const published = await fetchKeys(url)
  const areReadable = await Promise.all(published.map(isReadable))
  const keys = published.filter((_, index) => areReadable[index]) as JWK[]
  const malformed = published.filter((_, index) => !areReadable[index]).map((key) => (key as JWK | null)?.kid)
  if (keys.length === 0 && malformed.length > 0) throw new Error('every key of the key server is malformed')
  return { keys, malformed }
}

/** Whether a key can be imported for each algorithm that it claims. */
async function isReadable(key: unknown): Promise<boolean> {
  if (typeof (key as JWK | null)?.kty !== 'string') return false
  for (const alg of SIGNATURE_ALGORITHMS) {
    try {
      await createLocalJWKSet({ keys: [key as JWK] })({ alg })
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey)) return false
    }
  }
  return true
}

async function fetchKeys(url: string): Promise<unknown[]> {
  const response = await fetch(url, {
    headers: { accept: 'application/jwk-set+json, application/json' },
    redirect: 'error',
    signal: AbortSignal.timeout(FETCH_TIMEOUT),
  })
  if (response.status !== 200) {
    await response.body?.cancel()
    throw new Error(`the key server responds ${response.status}`)
  }
  const keys = parseKeys(await readText(response))
  if (!Array.isArray(keys)) throw new Error("the key server's response is not a JSON Web Key Set")
  return keys
}

function parseKeys(text: string): unknown {
  try {
    return JSON.parse(text)?.keys
  } catch {
    // Without the cause, which quotes the response.
    throw new Error("the key server's response is not JSON")
  }
}

async function readText(response: Response): Promise<string> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of response.body ?? []) {
    size += chunk.length
    if (size > MAX_SIZE) throw new Error(`the key server's response has more than ${MAX_SIZE} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

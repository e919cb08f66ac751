/** How many tokens are cached; the oldest is evicted first. */
const MAX_TOKENS = 10_000
/** How long a token is cached, in milliseconds: revocation takes effect within one second in every process. */
const TTL = 500

/** Caches what is known of valid tokens. */
export interface TokenCache<Value> {
  /** Returns the value of a token, unless it is stale or the token has expired. */
  get(token: string): Value | undefined
  set(token: string, value: Value): void
}

/**
 * Creates a cache, so that a busy client costs neither a database query nor a signature check per request. Only valid
 * tokens are cached: invalid ones cannot evict them, and a new token works immediately. A map finds tokens by hash, so
 * the time that a lookup takes reveals nothing of them.
 */
export function createTokenCache<Value extends { expiresAt: number }>(): TokenCache<Value> {
  const cache = new Map<string, { value: Value; staleAt: number }>()
  return {
    get(token) {
      const entry = cache.get(token)
      if (!entry) return undefined
      if (performance.now() < entry.staleAt && Date.now() < entry.value.expiresAt) return entry.value
      cache.delete(token)
      return undefined
    },

    set(token, value) {
      // Deleted first, so that the order of the map is that of the age.
      cache.delete(token)
      const [oldest] = cache.keys()
      if (cache.size >= MAX_TOKENS && oldest !== undefined) cache.delete(oldest)
      cache.set(token, { value, staleAt: performance.now() + TTL })
    },
  }
}

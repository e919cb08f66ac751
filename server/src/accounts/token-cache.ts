/** How many tokens are remembered at once; the oldest is forgotten first. */
const REMEMBERED = 10_000

/** What is known of tokens, for a while. */
export interface Memory<Value> {
  /** What is known of a token; nothing once its time is over. */
  recall(token: string): Value | undefined
  remember(token: string, value: Value): void
}

/**
 * Makes a memory that believes what it was told for so many milliseconds. It finds tokens in a map, by hash and not by
 * comparing prefixes, so that the time tells nothing. Whoever remembers only tokens that are good keeps a flood of
 * wrong ones from filling it.
 */
export function createMemory<Value>(believedFor: number): Memory<Value> {
  const memory = new Map<string, { value: Value; until: number }>()
  return {
    recall(token) {
      const entry = memory.get(token)
      if (!entry || entry.until > performance.now()) return entry?.value
      memory.delete(token)
      return undefined
    },

    remember(token, value) {
      // What is set again goes to the end: the first is the oldest.
      memory.delete(token)
      const [oldest] = memory.keys()
      if (memory.size >= REMEMBERED && oldest !== undefined) memory.delete(oldest)
      memory.set(token, { value, until: performance.now() + believedFor })
    },
  }
}

/**
 * A capacity, such as bytes or requests in flight, that clients share.
 *
 * A client may hold a multiple of what is free, so that one alone never takes everything: with a factor of 8 it gets 889
 * of 1,000. The more clients hold, the less each may hold. This is the dynamic threshold of shared-memory switches
 * (Choudhury and Hahne, 1998): it needs no list of clients and no division in advance.
 */
export type FairShare = ReturnType<typeof createFairShare>

/** The factor for capacities of many equal parts. */
const PLENTIFUL = 8
/** The factor for capacities of which a client takes large parts: what one leaves must be enough for the next. */
export const SCARCE = 1

/** Up to so many clients that hold nothing are kept. */
const MIN_SWEEP = 1_000

/**
 * Creates a capacity to share.
 *
 * @param factor how many times of what is free a client may hold; default: 8
 */
export function createFairShare(capacity: number, factor: number = PLENTIFUL) {
  const held = new Map<string, number>()
  let used = 0
  let maxSize = MIN_SWEEP

  /**
   * Removes clients that hold nothing. Not each at once: a Map that one key is added to and deleted from with every request
   * makes a new table every few requests, and once an old table is in V8's old generation, it keeps all later ones alive,
   * until a collection of the whole heap stops the process for 10 ms, twice a second.
   */
  function sweep(): void {
    for (const [client, amount] of held) if (amount === 0) held.delete(client)
    maxSize = Math.max(MIN_SWEEP, 2 * held.size)
  }

  return {
    /** Whether a client may take so much more. */
    hasRoom(client: string, amount: number): boolean {
      const free = capacity - used
      const mine = held.get(client) ?? 0
      // A client that holds nothing may take all that is free.
      return amount <= free && (mine === 0 || mine + amount <= factor * free)
    },

    /** Takes an amount, even beyond the capacity: what is counted may be in use already. */
    take(client: string, amount: number): void {
      used += amount
      held.set(client, (held.get(client) ?? 0) + amount)
      if (held.size > maxSize) sweep()
    },

    release(client: string, amount: number): void {
      used -= amount
      held.set(client, Math.max(0, (held.get(client) ?? 0) - amount))
    },

    /** How much all clients hold. */
    used: () => used,
  }
}

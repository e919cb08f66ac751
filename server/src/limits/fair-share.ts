/**
 * A capacity, such as bytes or requests in flight, that clients share.
 *
 * A client may hold a multiple of what is free, so that one alone never takes everything: with a factor of 8 it gets 888
 * of 1,000. The more clients hold, the less each may hold. This is the dynamic threshold of shared-memory switches
 * (Choudhury and Hahne, 1998): it needs no list of clients and no division in advance.
 */
export interface FairShare {
  /** Whether a client may take so much more. */
  hasRoom(client: string, amount: number): boolean
  /** Takes it, even beyond the capacity if it is in use already. */
  take(client: string, amount: number): void
  release(client: string, amount: number): void
  /** How much all clients hold. */
  used(): number
}

/** The factor for capacities of many equal parts. */
const PLENTIFUL = 8
/** The factor for capacities of which a client takes large parts: what one leaves must be enough for the next. */
export const SCARCE = 1

/**
 * Creates a capacity to share.
 *
 * @param factor how many times of what is free a client may hold; default: 8
 */
export function createFairShare(capacity: number, factor: number = PLENTIFUL): FairShare {
  const held = new Map<string, number>()
  let used = 0

  return {
    hasRoom(client, amount) {
      const free = capacity - used
      const mine = held.get(client) ?? 0
      // A client that holds nothing may take all that is free.
      return amount <= free && (mine === 0 || mine + amount <= factor * free)
    },

    take(client, amount) {
      used += amount
      held.set(client, (held.get(client) ?? 0) + amount)
    },

    release(client, amount) {
      used -= amount
      const rest = (held.get(client) ?? 0) - amount
      if (rest > 0) held.set(client, rest)
      else held.delete(client)
    },

    used: () => used,
  }
}

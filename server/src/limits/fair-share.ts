/**
 * A capacity, such as bytes or requests in flight, that clients share.
 *
 * A client may hold up to a factor of what is still free, so that one alone never takes everything: with a factor of 8 it
 * gets 888 of 1,000, and the next one finds room. The more clients hold, the less each may hold. This is the dynamic threshold
 * of shared-memory switches (Choudhury and Hahne, 1998): it needs no list of clients and no division in advance.
 */
export interface FairShare {
  /** Whether a client may take this much more. */
  hasRoom(client: string, amount: number): boolean
  /** Whether a client holds as much as the average one, or more, and more than one. */
  holdsMuch(client: string): boolean
  /** Takes it. What is in use already is counted even beyond the capacity. */
  take(client: string, amount: number): void
  /** Gives back what was taken. */
  release(client: string, amount: number): void
  /** How much all clients hold. */
  used(): number
}

/** For capacities of many equal parts. */
const PLENTIFUL = 8
/** For capacities of which a client may take a large part at a time: what one leaves has to be enough for the next. */
export const SCARCE = 1

/**
 * Makes a capacity to share.
 *
 * @param factor how many times of what is still free a client may hold; default: 8
 */
export function createFairShare(capacity: number, factor: number = PLENTIFUL): FairShare {
  const held = new Map<string, number>()
  let used = 0

  return {
    hasRoom(client, amount) {
      const free = capacity - used
      const mine = held.get(client) ?? 0
      // A client that holds nothing is never too large, only too late.
      return amount <= free && (mine === 0 || mine + amount <= factor * free)
    },

    holdsMuch(client) {
      const mine = held.get(client) ?? 0
      return mine > 1 && mine * held.size >= used
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

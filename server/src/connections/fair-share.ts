/** How clients share a limit, and by which name each is counted. */

/** A client may hold so many times what is free. */
const FACTOR = 8
/** Up to so many clients that hold nothing are kept. */
const MIN_SWEEP = 1_000

/** Places that clients share. */
export interface FairShare {
  /** Returns whether a client may take another place. One that holds none may take the last. */
  hasRoom(client: string): boolean
  take(client: string): void
  release(client: string): void
  /** Returns how many places a client holds. */
  heldBy(client: string): number
  /** Returns how many places all clients hold. */
  used(): number
}

/**
 * Creates places that clients share, such as those of requests in flight.
 *
 * A client may hold eight times what is free, so that one alone never takes everything: it gets 889 of 1,000. The more
 * clients hold, the less each may hold. This is the dynamic threshold of shared-memory switches (Choudhury and Hahne,
 * 1998): it needs no list of clients and no division in advance.
 */
export function createFairShare(capacity: number): FairShare {
  const held = new Map<string, number>()
  let used = 0
  let maxSize = MIN_SWEEP

  /**
   * Removes clients that hold nothing. Not each at once: a Map that one key is added to and deleted from with every
   * request makes a new table every few requests, and once an old table is in V8's old generation, it keeps all later
   * ones alive, until a collection of the whole heap stops the process for 10 ms, twice a second.
   */
  function sweep(): void {
    for (const [client, count] of held) if (count === 0) held.delete(client)
    maxSize = Math.max(MIN_SWEEP, 2 * held.size)
  }

  function heldBy(client: string): number {
    return held.get(client) ?? 0
  }

  return {
    hasRoom(client) {
      const free = capacity - used
      const mine = heldBy(client)
      return free > 0 && (mine === 0 || mine < FACTOR * free)
    },
    take(client) {
      used++
      held.set(client, heldBy(client) + 1)
      if (held.size > maxSize) sweep()
    },
    release(client) {
      used--
      held.set(client, Math.max(0, heldBy(client) - 1))
    },
    heldBy,
    used: () => used,
  }
}

/**
 * Names the client behind an address: an IPv4 address, or the first half of an IPv6 address, since one customer of a
 * provider may use all of the other half.
 *
 * @param address as Node.js writes it, which is always the same way
 */
export function addressKey(address = 'unknown'): string {
  const bare = address.replace(/^::ffff:(?=\d+\.)|%.*$/g, '')
  if (!bare.includes(':')) return bare
  const groups = bare.split(':').filter(Boolean)
  const whole = bare.replace('::', `:${'0:'.repeat(8 - groups.length)}`)
  return `${whole.split(':').filter(Boolean).slice(0, 4).join(':')}::/64`
}

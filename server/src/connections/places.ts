/** The places of a limit, which clients share, and by which name each client is counted. */

/** A client may have so many times what is free. */
const FACTOR = 8
/** Up to so many clients that have no place are kept. */
const MIN_SWEEP = 1_000

/** Places that clients share. */
export interface Places {
  /** Returns whether a client may take another place. One that has none may take the last. */
  hasRoom(client: string): boolean
  take(client: string): void
  release(client: string): void
  /** Returns how many places a client has. */
  takenBy(client: string): number
  /** Returns how many places all clients have. */
  taken(): number
}

/**
 * Creates places that clients share, such as those of requests in flight.
 *
 * A client may have eight times what is free, so that one alone never takes everything: it gets 889 of 1,000. The more
 * clients have, the less each may have. This is the dynamic threshold of shared-memory switches (Choudhury and Hahne,
 * 1998): it needs no list of clients and no division in advance.
 */
export function createPlaces(capacity: number): Places {
  const byClient = new Map<string, number>()
  let taken = 0
  let maxSize = MIN_SWEEP

  /**
   * Removes clients that have no place. Not each at once: a Map that one key is added to and deleted from with every
   * request makes a new table every few requests, and once an old table is in V8's old generation, it keeps all later
   * ones alive, until a collection of the whole heap stops the process for 10 ms, twice a second.
   */
  function sweep(): void {
    for (const [client, count] of byClient) if (count === 0) byClient.delete(client)
    maxSize = Math.max(MIN_SWEEP, 2 * byClient.size)
  }

  function takenBy(client: string): number {
    return byClient.get(client) ?? 0
  }

  return {
    hasRoom(client) {
      const free = capacity - taken
      const mine = takenBy(client)
      return free > 0 && (mine === 0 || mine < FACTOR * free)
    },
    take(client) {
      taken++
      byClient.set(client, takenBy(client) + 1)
      if (byClient.size > maxSize) sweep()
    },
    release(client) {
      taken--
      byClient.set(client, Math.max(0, takenBy(client) - 1))
    },
    takenBy,
    taken: () => taken,
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

import type { ListState } from '@plant-store/prisma'
import { LRUCache } from 'lru-cache'

const MEBIBYTE = 2 ** 20
/** The size of all cached pieces, each with {@link PIECE_BYTES}, and of those of one list, in bytes. */
const MAX_CACHE_BYTES = 16 * MEBIBYTE
const MAX_LIST_BYTES = MEBIBYTE
/** What a cached piece takes in memory besides its JSON: the name of the account, objects, and a place in a map. */
const PIECE_BYTES = 1_024

/** A piece of the text of a list: at most 64 kB, or one plant. */
export interface Piece {
  readonly json: Buffer
  /** The `seq` of its last plant, after which the next piece begins. */
  readonly last: number
  /** Whether another piece follows. */
  readonly more: boolean
  /** How many plants to read next: as many as have just fitted, or twice as many where these would fit too. */
  readonly nextLimit: number
  /** The moment at which it began to be read. */
  readonly moment: number
  /** The version that the whole list had then; undefined: it is not known. */
  readonly version: string | undefined
}

/** The cached pieces of a list. */
interface CachedList {
  readonly version: string
  /** By the `seq` before each. */
  readonly pieces: Map<number, Piece>
  readonly bytes: number
}

/** A request for a list. */
export interface ListRequest {
  readonly account: string
  /** The moment at which it arrived. */
  readonly arrival: number
  /**
   * How the whole list was after that; undefined: a part of it is requested, of which nothing is cached. What is added
   * later may be left out, so that a list ends.
   */
  readonly state?: ListState
}

/** A read of the database. */
interface Reading {
  /** The moment at which it began; `Infinity`: it waits for its turn. */
  moment: number
  result?: Promise<unknown>
}

/**
 * The pieces of lists that are cached, or being read. Moments are numbers: a later one has a larger number.
 */
export interface ListCache {
  /** Returns the moment at which a request arrives, or a read begins. */
  nextMoment(): number
  /** Returns the piece after a `seq` that the list of a request has; undefined: it has to be read. */
  find(request: ListRequest, after: number): Piece | undefined
  /** Caches a piece of a list under its own version: plants may have changed since that of the list was read. */
  add(account: string, after: number, piece: Piece): void
  /**
   * Reads, or returns what another request with the same key reads and has not begun to read before this one arrived.
   *
   * @param read calls `begin` when it begins, which returns that moment
   */
  share<Result>(arrival: number, key: unknown, read: (begin: () => number) => Promise<Result>): Promise<Result>
}

/** Creates an empty cache (docs/decisions/012-list-cache.md). */
export function createListCache(): ListCache {
  const cache = new LRUCache<string, CachedList>({ maxSize: MAX_CACHE_BYTES })
  /** The reads that have not ended, by account and range. */
  const running = new Map<string, Reading>()
  let lastMoment = 0
  const nextMoment = () => ++lastMoment

  return {
    nextMoment,

    find({ account, arrival, state }, after) {
      if (!state) return undefined
      const list = cache.get(account)
      const piece = list?.pieces.get(after)
      return piece && (list?.version === state.version || piece.moment > arrival) ? piece : undefined
    },

    add(account, after, piece) {
      const { version } = piece
      if (version === undefined) return
      const known = cache.get(account)
      const { pieces, bytes } = known?.version === version ? known : { pieces: new Map<number, Piece>(), bytes: 0 }
      const size = bytes + PIECE_BYTES + piece.json.length
      if (pieces.has(after) || size > MAX_LIST_BYTES) return
      pieces.set(after, piece)
      // Another object, since only that makes the cache look at the size.
      cache.set(account, { version, pieces, bytes: size }, { size })
    },

    share<Result>(arrival: number, key: unknown, read: (begin: () => number) => Promise<Result>): Promise<Result> {
      const name = JSON.stringify(key)
      const other = running.get(name)
      if (other && other.moment > arrival) return other.result as Promise<Result>
      const reading: Reading = { moment: Number.POSITIVE_INFINITY }
      running.set(name, reading)
      const begin = () => {
        reading.moment = nextMoment()
        return reading.moment
      }
      const result = read(begin).finally(() => running.get(name) === reading && running.delete(name))
      reading.result = result
      return result
    },
  }
}

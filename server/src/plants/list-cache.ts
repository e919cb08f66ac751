import { putBack } from './put-back.ts'

/** Runs a reading of the database within the bounds of its request. */
export type BoundReading = <T>(read: () => Promise<T>) => Promise<T>

/**
 * Keeps the serialized lists of busy accounts as long as they are provably what the database holds.
 *
 * Proof needs two things. What this process writes is told by {@link ListCache.write}. What any other connection
 * writes, of this process or another, changes SQLite's `data_version`, which is read anew for every list, after its
 * request has arrived; the lists that are asked for in one turn of the event loop share one reading. A list is kept
 * with the version that was read before its rows were, so that a write in between makes it stale, never wrong. Long
 * lists are not kept, and those that were not asked for longest go first.
 */
export interface ListCache {
  /**
   * The list of an account as JSON text in UTF-8: kept, or read and then kept; as pieces where it is too long to keep.
   */
  get(account: string, bound: BoundReading): Promise<Buffer | AsyncIterator<string>>
  /**
   * Runs a write of this process, which must tell of what it changed by {@link append} or {@link forget} before it
   * ends: a list that is read meanwhile may have the change in it already, and is not kept.
   */
  write<T>(run: () => Promise<T>): Promise<T>
  /** Some plants were appended to the list of an account, and nothing else: their JSON, with commas between. */
  append(account: string, json: string): void
  /** Something may have changed in the list of an account. */
  forget(account: string): unknown
}

/** What a list cache works with. */
export interface ListCacheOptions {
  /** SQLite's `data_version`: it changes when another connection has committed. */
  readVersion(): Promise<number>
  /** Reads the whole list of an account, as JSON text in pieces. */
  readList(account: string): Promise<AsyncIterator<string>>
  /** A list with more bytes is not kept. */
  maximumListBytes: number
  /** All lists together are kept in this many bytes. */
  maximumBytes: number
}

interface Entry {
  version: number
  text: string
  /** The text in UTF-8, once it was asked for. */
  bytes: Buffer | undefined
}

/** Makes a list cache. */
export function createListCache({
  readVersion,
  readList,
  maximumListBytes,
  maximumBytes,
}: ListCacheOptions): ListCache {
  // In the order of their last use: a Map keeps the order of insertion.
  const entries = new Map<string, Entry>()
  let keptBytes = 0
  let writesBegun = 0
  let writesEnded = 0
  const currentVersion = shareTurn(readVersion)

  function remove(account: string): Entry | undefined {
    const entry = entries.get(account)
    if (entry) keptBytes -= entry.text.length
    entries.delete(account)
    return entry
  }

  function keep(account: string, entry: Entry): void {
    remove(account)
    if (entry.text.length > maximumListBytes) return
    entries.set(account, entry)
    keptBytes += entry.text.length
    for (const oldest of entries.keys()) {
      if (keptBytes <= maximumBytes) break
      remove(oldest)
    }
  }

  function recall(account: string, version: number): Buffer | undefined {
    const entry = entries.get(account)
    if (entry?.version !== version) return undefined
    entries.delete(account)
    entries.set(account, entry)
    entry.bytes ??= Buffer.from(entry.text)
    return entry.bytes
  }

  async function read(account: string, version: number): Promise<Buffer | AsyncIterator<string>> {
    const quiet = writesBegun === writesEnded
    const writesBefore = writesBegun
    const pieces = await readList(account)
    let text = ''
    for (let next = await pieces.next(); !next.done; next = await pieces.next()) {
      text += next.value
      if (text.length > maximumListBytes) return putBack(text, pieces)
    }
    const bytes = Buffer.from(text)
    if (quiet && writesBegun === writesBefore) keep(account, { version, text, bytes })
    return bytes
  }

  return {
    async get(account, bound) {
      const version = await currentVersion()
      const bytes = recall(account, version)
      if (bytes) return bytes
      // The request before may have been for the same list.
      return bound(async () => recall(account, version) ?? read(account, version))
    },

    async write(run) {
      writesBegun++
      try {
        return await run()
      } finally {
        writesEnded++
      }
    },

    append(account, json) {
      const entry = remove(account)
      if (!entry) return
      const { version, text } = entry
      keep(account, { version, text: `${text.slice(0, -1)}${text === '[]' ? '' : ','}${json}]`, bytes: undefined })
    },

    forget: remove,
  }
}

/** Runs a function once for all who ask within a turn of the event loop, after the last of them has asked. */
function shareTurn<T>(run: () => Promise<T>): () => Promise<T> {
  let shared: Promise<T> | undefined
  return () => {
    shared ??= new Promise<void>((resolve) => setImmediate(resolve)).then(() => {
      shared = undefined
      return run()
    })
    return shared
  }
}

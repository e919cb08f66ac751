import { putBack } from './put-back.ts'

/** Runs a read of the database within the limits of its request. */
export type LimitRead = <T>(read: () => Promise<T>) => Promise<T>

/**
 * Caches the serialized lists of busy accounts for as long as they are certain to be what the database holds.
 *
 * What this process writes goes through {@link ListCache.write}; what any other connection writes changes the version of
 * the database. The version is read for every list, after its request has arrived, and once for all lists that are
 * requested in one turn of the event loop. A list is cached with the version that was read before its rows were, so that
 * a write in between makes it stale, never wrong. Long lists are not cached, and the least recently used go first.
 */
export interface ListCache {
  /** Returns the list of an account as JSON text in UTF-8, or in pieces where it is too long to cache. */
  get(account: string, limitRead: LimitRead): Promise<Buffer | AsyncIterator<string>>
  /**
   * Runs a write, which must report what it changed with {@link append} or {@link delete} before it ends. A list that is
   * read meanwhile may already have the change, and is not cached.
   */
  write<T>(run: () => Promise<T>): Promise<T>
  /** Appends plants to the list of an account: JSON objects, separated by commas. Nothing else has changed in it. */
  append(account: string, json: string): void
  /** Removes the list of an account, in which anything may have changed. */
  delete(account: string): unknown
}

/** What a list cache works with. */
export interface ListCacheOptions {
  /** Returns a number that changes when another connection has changed the database. */
  readVersion(): Promise<number>
  /** Reads the whole list of an account, as JSON text in pieces. */
  readList(account: string): Promise<AsyncIterator<string>>
  /** A longer list is not cached. */
  maxListCharacters: number
  /** The length of all cached lists. A character takes 1 or 2 bytes as text, and up to 3 once it was sent, in UTF-8. */
  maxCharacters: number
}

interface Entry {
  version: number
  text: string
  /** The text in UTF-8, once it has been requested. */
  bytes: Buffer | undefined
}

/** Creates a list cache. */
export function createListCache({
  readVersion,
  readList,
  maxListCharacters,
  maxCharacters,
}: ListCacheOptions): ListCache {
  // A Map keeps the order of insertion, here that of the last use.
  const entries = new Map<string, Entry>()
  let cachedCharacters = 0
  let writesBegun = 0
  let writesEnded = 0
  const currentVersion = oncePerTurn(readVersion)

  function remove(account: string): Entry | undefined {
    const entry = entries.get(account)
    if (entry) cachedCharacters -= entry.text.length
    entries.delete(account)
    return entry
  }

  function set(account: string, entry: Entry): void {
    remove(account)
    if (entry.text.length > maxListCharacters) return
    entries.set(account, entry)
    cachedCharacters += entry.text.length
    for (const leastRecent of entries.keys()) {
      if (cachedCharacters <= maxCharacters) break
      remove(leastRecent)
    }
  }

  function find(account: string, version: number): Buffer | undefined {
    const entry = entries.get(account)
    if (entry?.version !== version) return undefined
    entries.delete(account)
    entries.set(account, entry)
    entry.bytes ??= Buffer.from(entry.text)
    return entry.bytes
  }

  async function read(account: string, version: number): Promise<Buffer | AsyncIterator<string>> {
    const writesBefore = writesBegun
    const isWriting = writesBegun > writesEnded
    const pieces = await readList(account)
    let text = ''
    for (let next = await pieces.next(); !next.done; next = await pieces.next()) {
      text += next.value
      if (text.length > maxListCharacters) return putBack(text, pieces)
    }
    const bytes = Buffer.from(text)
    if (!isWriting && writesBegun === writesBefore) set(account, { version, text, bytes })
    return bytes
  }

  return {
    async get(account, limitRead) {
      const version = await currentVersion()
      const bytes = find(account, version)
      if (bytes) return bytes
      // A request before this one may have read the same list meanwhile.
      return limitRead(async () => find(account, version) ?? read(account, version))
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
      set(account, { version, text: `${text.slice(0, -1)}${text === '[]' ? '' : ','}${json}]`, bytes: undefined })
    },

    delete: remove,
  }
}

/** Makes a function run once for all calls within a turn of the event loop, after the last of them. */
function oncePerTurn<T>(run: () => Promise<T>): () => Promise<T> {
  let shared: Promise<T> | undefined
  return () => {
    shared ??= new Promise<void>((resolve) => setImmediate(resolve)).then(() => {
      shared = undefined
      return run()
    })
    return shared
  }
}

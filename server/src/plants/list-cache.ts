import { type KnownList, type ListChange, oncePerTurn, type PlantList } from '@plant-store/prisma'

/** Runs a read of the database within the limits of its request. */
export type LimitRead = <T>(read: () => Promise<T>) => Promise<T>

/**
 * Caches the serialized lists of busy accounts.
 *
 * For every list, what has changed since it was cached is read after its request has arrived, once for all lists that are
 * requested in one turn of the event loop. Plants that any server or program has added are appended; a list in which others
 * were changed or deleted is read again. So a list is never older than its request, on any number of servers. Long lists
 * are not cached, and the least recently used go first.
 */
export interface ListCache {
  /** Returns the list of an account as JSON text in UTF-8, or in pieces where it is too long to cache. */
  get(account: string, limitRead: LimitRead): Promise<Buffer | AsyncIterator<string>>
}

/** What a list cache works with. */
export interface ListCacheOptions {
  /** Reads what has changed in lists. */
  readChanges(lists: readonly KnownList[]): Promise<readonly ListChange[]>
  /** Reads the whole list of an account. */
  readList(account: string): Promise<PlantList>
  /** A longer list is not cached. */
  maxListCharacters: number
  /** The length of all cached lists. A character takes 1 or 2 bytes as text, and up to 3 once it was sent, in UTF-8. */
  maxCharacters: number
}

/** A list as it was at one moment. It is replaced, never changed. */
interface Entry {
  readonly edits: number
  readonly last: number
  readonly text: string
  /** The text in UTF-8, once it has been requested. */
  bytes?: Buffer
}

/** What is known of a list that is not cached, whatever its edits: all that follows its beginning is the whole list. */
const UNKNOWN = { edits: 0, last: 0, text: '[]' } satisfies Entry

/** Creates a list cache. */
export function createListCache({
  readChanges,
  readList,
  maxListCharacters,
  maxCharacters,
}: ListCacheOptions): ListCache {
  // A Map keeps the order of insertion, here that of the last use.
  const entries = new Map<string, Entry>()
  let cachedCharacters = 0

  function remove(account: string): void {
    const entry = entries.get(account)
    if (entry) cachedCharacters -= entry.text.length
    entries.delete(account)
  }

  function set(account: string, entry: Entry): Entry {
    remove(account)
    if (entry.text.length > maxListCharacters) return entry
    entries.set(account, entry)
    cachedCharacters += entry.text.length
    for (const leastRecent of entries.keys()) {
      if (cachedCharacters <= maxCharacters) break
      remove(leastRecent)
    }
    return entry
  }

  /** Reads what has changed in the lists of these accounts, brings the cached ones up to date, and returns those it knows. */
  async function refresh(accounts: readonly string[]) {
    const known = accounts.map((account) => entries.get(account) ?? UNKNOWN)
    const changes = await readChanges(accounts.map((account, index) => ({ account, last: known[index]?.last ?? 0 })))
    return accounts.map((account, index) => {
      const change = changes[index] as ListChange
      const entry = applyChange(known[index] ?? UNKNOWN, change)
      if (!entry) remove(account)
      return { change, entry: entry && set(account, entry) }
    })
  }

  async function read(account: string, { edits, last }: ListChange): Promise<Buffer | AsyncIterator<string>> {
    // A request before this one may have read the same list meanwhile.
    const current = entries.get(account)
    if (current && current.edits === edits && current.last >= last) return toBytes(current)
    const list = await readList(account)
    let text = ''
    for (let next = await list.pieces.next(); !next.done; next = await list.pieces.next()) {
      text += next.value
      if (text.length > maxListCharacters) return putBack(text, list.pieces)
    }
    // The edits were counted before: if there was one since, the list is read again.
    return toBytes(set(account, { edits, last: list.last, text }))
  }

  const refreshOnce = oncePerTurn(refresh)

  return {
    async get(account, limitRead) {
      const { change, entry } = await refreshOnce(account)
      return entry ? toBytes(entry) : limitRead(() => read(account, change))
    },
  }
}

/** Returns the list after a change; undefined where it has to be read again. */
function applyChange(known: Entry, { edits, json, last }: ListChange): Entry | undefined {
  // The database was put back to an earlier time.
  if (last < known.last) return undefined
  // What follows the beginning is the whole list.
  if (json === undefined || (known.last > 0 && known.edits !== edits)) return undefined
  if (json === '') return known
  return { edits, last, text: `${known.text.slice(0, -1)}${known.last === 0 ? '' : ','}${json}]` }
}

function toBytes(entry: Entry): Buffer {
  entry.bytes ??= Buffer.from(entry.text)
  return entry.bytes
}

/** Returns an iterator that yields `piece` before the rest. Once it has been yielded, it is not held in memory. */
export async function* putBack(piece: string, rest: AsyncGenerator<string, undefined>): AsyncGenerator<string> {
  const pieces = [piece]
  for (let next = pieces.pop(); next !== undefined; next = pieces.pop()) yield next
  yield* rest
}

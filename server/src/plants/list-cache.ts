import {
  type JsonPieces,
  type KnownList,
  type ListRange,
  type ListState,
  oncePerTurn,
  type PlantList,
} from '@plant-store/prisma'

/** What a list cache works with. */
export interface ListCacheOptions {
  /** Reads how lists are now. */
  readStates(lists: readonly KnownList[]): Promise<readonly ListState[]>
  /** Resolves once a list of an account may be read. */
  takeTurn(account: string): Promise<void>
  /** Reads a part of the list of an account. */
  readList(account: string, range: ListRange): Promise<PlantList>
  /** A list that is longer, or has several pieces, is not cached. */
  maxListBytes: number
  /** The size of all cached lists, each with {@link ENTRY_BYTES}. */
  maxBytes: number
}

/** What an entry takes in memory besides its JSON: the name of the account, objects, and a place in a map. */
export const ENTRY_BYTES = 1_024

/** A list as it was at one moment. Only `isUsed` changes. */
interface Entry extends Pick<ListState, 'edits' | 'last' | 'lastCreatedAt'> {
  readonly json: Buffer
  /** Whether it was requested since it was stored, or last spared. */
  isUsed: boolean
}

const NOTHING: Entry = { edits: 0, last: 0, lastCreatedAt: null, json: Buffer.from('[]'), isUsed: false }

/**
 * Creates a cache of the serialized lists of busy accounts.
 *
 * The state of every requested list is read after its request has arrived, once for all lists of a turn of the event loop. If
 * plants were only added, by any server or program, they are read and appended; a list of which others were changed or
 * deleted, or whose last plant is not stored any more, is read again. So a list is never older than its request, on any number
 * of servers. Long lists are not cached, and of the others, those that were not used for long go first.
 */
export function createListCache({ readStates, takeTurn, readList, maxListBytes, maxBytes }: ListCacheOptions) {
  // A Map keeps the order of insertion.
  const entries = new Map<string, Entry>()
  let bytes = 0

  function remove(account: string): void {
    const entry = entries.get(account)
    if (entry) bytes -= sizeOf(entry)
    entries.delete(account)
  }

  function add(account: string, entry: Entry): void {
    entries.set(account, entry)
    bytes += sizeOf(entry)
  }

  /** Stores an entry, for which the oldest ones go. One that was requested meanwhile is spared once, as the newest. */
  function store(account: string, entry: Entry): void {
    remove(account)
    if (entry.json.length > maxListBytes) return
    for (const [oldest, old] of entries) {
      if (bytes + sizeOf(entry) <= maxBytes) break
      remove(oldest)
      if (old.isUsed) add(oldest, { ...old, isUsed: false })
    }
    add(account, entry)
  }

  /** Returns a list in a state, which has some plants more than an entry, and stores it. */
  function extend(account: string, entry: Entry, state: ListState, news: string): Buffer {
    entry.isUsed = true
    if (news === '') return entry.json
    const { edits, last, lastCreatedAt } = state
    const json = append(entry.json, news)
    store(account, { edits, last, lastCreatedAt, json, isUsed: false })
    return json
  }

  /**
   * Reads how lists are now. Where all news of a list came with its state, `json` is the list; where they are too many, or the
   * cached list is outdated, `entry` is what the list still begins with.
   */
  const refresh = oncePerTurn(async (accounts) => {
    const known = accounts.map((account) => ({ account, entry: entries.get(account) ?? NOTHING }))
    const states = await readStates(
      known.map(({ account, entry: { last, lastCreatedAt } }) => ({ account, last, lastCreatedAt })),
    )
    return known.map(({ account, entry }, index) => {
      const state = states[index] as ListState
      if (isOutdated(entry, state)) {
        // Another turn may have stored a newer one.
        if (entries.get(account) === entry) remove(account)
        return { state, entry: NOTHING, json: undefined }
      }
      const { news } = state
      return { state, entry, json: news === undefined ? undefined : extend(account, entry, state, news) }
    })
  })

  async function read(account: string, state: ListState, entry: Entry): Promise<Buffer | JsonPieces> {
    await takeTurn(account)
    // A request before this one may have read the same list meanwhile.
    const current = entries.get(account)
    if (current && isSame(current, state)) return current.json
    const { pieces, isWhole } = await readList(account, { after: entry.last, until: state.last })
    if (!isWhole) return entry === NOTHING ? pieces : read(account, state, NOTHING)
    const text = (await pieces.next()).value ?? '[]'
    // The edits were counted before: if there was one since, the list is read again.
    return extend(account, entry, state, text.slice(1, -1))
  }

  return {
    /** Returns the list of an account as JSON text in UTF-8, or in pieces where it is too long to cache. */
    async get(account: string): Promise<Buffer | JsonPieces> {
      const { state, entry, json } = await refresh(account)
      return json ?? read(account, state, entry)
    },
  }
}

function isSame(entry: Entry, { edits, last, lastCreatedAt }: ListState): boolean {
  return entry.edits === edits && entry.last === last && entry.lastCreatedAt === lastCreatedAt
}

/** Whether a plant of a cached list was changed or deleted, or its last one is not stored any more. */
function isOutdated(entry: Entry, { hasKnown, edits }: ListState): boolean {
  return entry !== NOTHING && !(hasKnown && edits === entry.edits)
}

function sizeOf({ json }: Entry): number {
  return ENTRY_BYTES + json.length
}

/** Appends plants, as JSON objects separated by commas, to the JSON of a list. */
function append(list: Buffer, plants: string): Buffer {
  const length = list.length - 1
  const rest = `${length === 1 ? '' : ','}${plants}]`
  // Not `Buffer.from`, with which a short list would keep a block of memory that it shares with others.
  const json = Buffer.allocUnsafeSlow(length + Buffer.byteLength(rest))
  list.copy(json, 0, 0, length)
  json.write(rest, length)
  return json
}

import { type ListPiece, type ListRange, type ListState, MAX_PIECE_BYTES, type Plants } from '@plant-store/prisma'
import { LRUCache } from 'lru-cache'
import type { JsonPieces } from '../requests/responses.ts'
import type { IsKnown } from '../requests/router.ts'
import { createTurns, oncePerTurn } from '../requests/turns.ts'

/** How many plants the first piece of a list may have, and any piece. */
const FIRST_PIECE_PLANTS = 512
const MAX_PIECE_PLANTS = 1_024
const MEBIBYTE = 2 ** 20
/** The size of all cached pieces, each with {@link PIECE_BYTES}, and of those of one list, in bytes. */
const MAX_CACHE_BYTES = 16 * MEBIBYTE
const MAX_LIST_BYTES = MEBIBYTE
/** What a cached piece takes in memory besides its JSON: the name of the account, objects, and a place in a map. */
const PIECE_BYTES = 1_024

/** Which plants of an account to list, by whatever statements select by. Default: all. */
type Selection = Omit<ListRange, 'limit'> & { limit?: number | undefined }

/** Plants of an account as text. */
export interface PlantList {
  /**
   * The text of a JSON array: whole, or in pieces, each of which is read once the one before is sent. Empty where the
   * client has it.
   */
  json: Buffer | JsonPieces
  /**
   * The version of the whole list before its text was read: while the list has it, the same range has the same text.
   * Undefined: it is not known.
   */
  version: string | undefined
  /** The `seq` of the last plant where more follow; undefined: none do, or the list has no limit. */
  next: number | undefined
}

/** The lists of all accounts. */
export interface Lists {
  /**
   * Reads the selected plants of an account. Only the whole list is cached.
   *
   * @param isKnown whether the client has what the list had in a version; undefined: it has nothing
   */
  read(account: string, selection?: Selection, isKnown?: IsKnown): Promise<PlantList>
}

/** A list that is requested. */
interface ListRequest {
  readonly account: string
  /** The version of the list after the request had arrived; undefined: not known, or a part, of which none is cached. */
  readonly version: string | undefined
  /** The `seq` after which the list may end: what is added later may be left out, so that it does end. */
  readonly end: number
}

/** What to read for a piece. */
interface PieceRange extends ListRange {
  readonly after: number
  /** Whether the text of the list begins with it. */
  readonly isFirst: boolean
}

/** A piece of the text of a list: at most 64 kB, or one plant. */
interface Piece {
  readonly json: Buffer
  /** The `seq` of its last plant, after which the next piece begins. */
  readonly last: number
  /** Whether another piece follows. */
  readonly more: boolean
  /** How many plants to read next: as many as have just fitted, or twice as many where these would fit too. */
  readonly nextLimit: number
  /** The version that the whole list had when it was read; undefined: it is not known. */
  readonly version: string | undefined
}

const EMPTY = Buffer.from('[]')
const CLOSING = Buffer.from(']')

/**
 * Creates the lists of all accounts, as JSON text.
 *
 * The version of every requested list is read after its request has arrived, once for all lists of a turn of the event
 * loop. A piece that was cached with the same version is sent as it is; any other is read, and cached with the version
 * that the database had at the same moment. Equal versions are equal lists, so a list is never older than its request,
 * on any number of servers and whoever else changes plants (docs/decisions/012-list-cache.md).
 */
export function createLists(plants: Plants): Lists {
  const turns = createTurns()
  const cache = createPieceCache()
  const readState = oncePerTurn<ListState>(plants.states)
  const share = createSharedReads()

  /** Returns a piece of a list, which is read if it is not cached. */
  function getPiece({ account, version }: ListRequest, range: PieceRange): Piece | Promise<Piece> {
    const cached = version === undefined ? undefined : cache.find(account, version, range.after)
    if (cached) return cached
    const wait = () => (turns.hasTime() ? undefined : turns.wait(account, !range.isFirst))
    return share([account, range], wait, async () => {
      const piece = await readPiece(account, range)
      if (version !== undefined) cache.add(account, range.after, piece)
      return piece
    })
  }

  /** Reads a piece. Where as many plants are too long for one, an eighth of them is tried. */
  async function readPiece(account: string, range: PieceRange): Promise<Piece> {
    const { json, ...read } = await plants.read(account, range)
    if (json !== undefined) return toPiece({ ...read, json }, range)
    if (!turns.hasTime()) await turns.wait(account, true)
    return readPiece(account, shrink(range))
  }

  /** Returns the text of a list, whole where it is one piece. */
  async function readText(request: ListRequest, range: PieceRange): Promise<Buffer | JsonPieces> {
    const first = await getPiece(request, range)
    if (!first.more) return first.json
    return inPieces(first, request.end, ({ last: after, nextLimit: limit, version }) => {
      // The version of the piece before is as new, and more pieces are cached with it.
      const next = { ...request, version: request.version && version }
      return () => getPiece(next, { ...range, after, limit, isFirst: false })
    })
  }

  /** Reads the plants of a page, whose end has to be known before its text. */
  async function readPage(account: string, range: ListRange): Promise<PlantList> {
    const wait = () => turns.wait(account)
    const page = await share([account, range], wait, () => plants.read(account, range))
    const { json, last, more } = page
    const rest = { next: more ? last : undefined, version: versionOf(page) }
    if (json !== undefined) return { json: enclose('[', json, ']'), ...rest }
    const first = { ...shrink(range), after: range.after ?? 0, until: last, isFirst: true }
    return { json: await readText({ account, version: undefined, end: last }, first), ...rest }
  }

  return {
    async read(account, { limit, ...bounds } = {}, isKnown) {
      const state = limit === undefined || isKnown ? await readState(account) : undefined
      const version = state && versionOf(state)
      if (version !== undefined && isKnown?.(version)) return { json: EMPTY, next: undefined, version }
      if (limit !== undefined) return readPage(account, { limit, ...bounds })
      if (!state || state.last === 0) return { json: EMPTY, next: undefined, version }
      const isWhole = Object.values(bounds).every((bound) => bound === undefined)
      const request = { account, version: isWhole ? version : undefined, end: state.last }
      const first = { ...bounds, after: bounds.after ?? 0, limit: FIRST_PIECE_PLANTS, isFirst: true }
      return { json: await readText(request, first), next: undefined, version }
    },
  }
}

/** Returns the version of a list. One that has never had a plant has none in the database. */
function versionOf({ version, last }: ListState): string | undefined {
  return version ?? (last === 0 ? 'empty' : undefined)
}

/**
 * Creates what reads once for all requests that ask for the same before it begins: what it reads is newer than each of
 * them.
 */
function createSharedReads() {
  /** The reads that have not begun, by what they read. */
  const waiting = new Map<string, Promise<unknown>>()

  /** @param wait returns what the read has to wait for; undefined: it may begin at once */
  return function share<Result>(
    what: unknown,
    wait: () => Promise<void> | undefined,
    read: () => Promise<Result>,
  ): Promise<Result> {
    const key = JSON.stringify(what)
    const begin = async () => {
      // All requests whose versions were read together have asked by then.
      await undefined
      const turn = wait()
      if (turn) await turn
      waiting.delete(key)
      return read()
    }
    const result = waiting.get(key) ?? begin()
    waiting.set(key, result)
    return result as Promise<Result>
  }
}

/** The cached pieces of a list. */
interface CachedList {
  readonly version: string
  /** By the `seq` before each. */
  readonly pieces: Map<number, Piece>
  readonly bytes: number
}

/** Creates an empty cache of pieces. */
function createPieceCache() {
  const cache = new LRUCache<string, CachedList>({ maxSize: MAX_CACHE_BYTES })

  return {
    /** Returns the piece after a `seq` that the list of an account has in a version. */
    find(account: string, version: string, after: number): Piece | undefined {
      const list = cache.get(account)
      return list?.version === version ? list.pieces.get(after) : undefined
    },

    /** Caches a piece under its own version: plants may have changed since that of its request was read. */
    add(account: string, after: number, piece: Piece): void {
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
  }
}

/** Returns a list in pieces. Not a generator, which would keep the last piece until the next one. */
function inPieces(first: Piece, end: number, prepareNext: (before: Piece) => () => Piece | Promise<Piece>): JsonPieces {
  let known: Piece | undefined = first
  let readNext: (() => Piece | Promise<Piece>) | undefined
  let isClosed = false

  return async () => {
    const piece = known ?? (await readNext?.())
    known = undefined
    if (!piece) {
      if (isClosed) return undefined
      isClosed = true
      return CLOSING
    }
    const { json, more, last } = piece
    isClosed = !more
    readNext = more && last < end ? prepareNext(piece) : undefined
    return json
  }
}

/** Turns plants into a piece of the text of their list. */
function toPiece({ json, last, more, version }: ListPiece & { json: Buffer }, { isFirst, limit }: PieceRange): Piece {
  const comma = json.length === 0 ? '' : ','
  const text = enclose(isFirst ? '[' : comma, json, more ? '' : ']')
  const mayDouble = 2 * text.length <= MAX_PIECE_BYTES && limit < MAX_PIECE_PLANTS
  return { json: text, last, more, nextLimit: mayDouble ? 2 * limit : limit, version }
}

/** Makes a range shorter. */
function shrink<TRange extends ListRange>(range: TRange): TRange {
  return { ...range, limit: Math.ceil(range.limit / 8) }
}

/** Puts text before and after JSON. Not with `Buffer.concat`, whose short results keep a block of memory that they share. */
function enclose(before: string, json: Buffer, after: string): Buffer {
  const end = before.length + json.length
  const text = Buffer.allocUnsafeSlow(end + after.length)
  text.write(before)
  json.copy(text, before.length)
  text.write(after, end)
  return text
}

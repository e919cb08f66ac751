import { type ListRange, type ListState, MAX_PIECE_BYTES, type Plants } from '@plant-store/prisma'
import { LRUCache } from 'lru-cache'
import { oncePerTurn } from '../requests/once-per-turn.ts'
import type { JsonPieces } from '../requests/responses.ts'
import { createTurns } from '../requests/turns.ts'

const MEBIBYTE = 2 ** 20
/** The size of all cached pieces, each with {@link PIECE_BYTES}, and of those of one list, in bytes. */
const MAX_CACHE_BYTES = 16 * MEBIBYTE
const MAX_LIST_BYTES = MEBIBYTE
/** What a cached piece takes in memory besides its JSON: the name of the account, objects, and a place in a map. */
const PIECE_BYTES = 1_024
/** How many plants the first piece of a list may have, and any piece. */
const FIRST_PIECE_PLANTS = 512
const MAX_PIECE_PLANTS = 1_024

/** Which plants of an account to list. Default: all. */
type Range = Omit<ListRange, 'limit'> & { limit?: number | undefined }

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

/** Whether a client has what a list had in a version. */
export type IsKnown = (version: string) => boolean

/** The lists of all accounts. */
export interface Lists {
  /**
   * Reads the plants of an account in a range. Only the whole list is cached.
   *
   * @param isKnown whether the client has what the list had in a version; undefined: it has nothing
   */
  read(account: string, range?: Range, isKnown?: IsKnown): Promise<PlantList>
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
  /** The moment at which it began to be read: a count, see `lastMoment`. */
  readonly begin: number
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

/** What to read for a piece. */
interface PieceRange extends ListRange {
  readonly after: number
  /** Whether the text of the list begins with it. */
  readonly isFirst: boolean
}

/** A request for a list. */
interface ListRequest {
  readonly account: string
  /** The moment at which it arrived. */
  readonly since: number
  /**
   * How the whole list was since then; undefined: a part of it is requested, of which nothing is cached. What is added
   * later may be left out, so that a list ends.
   */
  readonly state?: ListState
}

/** A read of the database. */
interface Reading {
  /** The moment at which it began; `Infinity`: it waits for its turn. */
  begin: number
  result?: Promise<unknown>
}

const EMPTY = Buffer.from('[]')
const CLOSING = Buffer.from(']')

/**
 * Creates the lists of all accounts, as JSON text.
 *
 * The version of every requested list is read after its request has arrived, once for all lists of a turn of the event
 * loop. A piece that was cached with the same version, or has been read since then, is sent as it is; any other is
 * read, and cached with the version that the database had at the same moment. Equal versions are equal lists, so a list
 * is never older than its request, on any number of servers and whoever else changes plants.
 */
export function createLists(plants: Plants): Lists {
  const turns = createTurns()
  const cache = new LRUCache<string, CachedList>({ maxSize: MAX_CACHE_BYTES })
  const readState = oncePerTurn<ListState>(plants.states)
  /** The reads that have not ended, by account and range. */
  const running = new Map<string, Reading>()
  /** The moments of requests and reads are numbers: a later one has a larger number. */
  let lastMoment = 0

  function find({ account, since, state }: ListRequest, after: number): Piece | undefined {
    if (!state) return undefined
    const list = cache.get(account)
    const piece = list?.pieces.get(after)
    return piece && (list?.version === state.version || piece.begin > since) ? piece : undefined
  }

  function store(account: string, after: number, piece: Piece): void {
    // Its own version: plants may have changed since that of the list was read.
    const { version } = piece
    if (version === undefined) return
    const known = cache.get(account)
    const { pieces, bytes } = known?.version === version ? known : { pieces: new Map<number, Piece>(), bytes: 0 }
    const size = bytes + PIECE_BYTES + piece.json.length
    if (pieces.has(after) || size > MAX_LIST_BYTES) return
    pieces.set(after, piece)
    // Another object, since only that makes the cache look at the size.
    cache.set(account, { version, pieces, bytes: size }, { size })
  }

  /**
   * Reads, or returns what another request with the same key reads and has not begun to read before this one arrived.
   *
   * @param read calls `begin` when it begins, which returns that moment
   */
  function share<Result>(since: number, key: unknown, read: (begin: () => number) => Promise<Result>): Promise<Result> {
    const name = JSON.stringify(key)
    const other = running.get(name)
    if (other && other.begin > since) return other.result as Promise<Result>
    const reading: Reading = { begin: Number.POSITIVE_INFINITY }
    running.set(name, reading)
    const result = read(() => {
      reading.begin = ++lastMoment
      return reading.begin
    }).finally(() => running.get(name) === reading && running.delete(name))
    reading.result = result
    return result
  }

  /** Reads a piece of a list, or takes it from another request that has read it since this one arrived. */
  async function readPiece(request: ListRequest, range: PieceRange): Promise<Piece> {
    const { account, since, state } = request
    const { after, isFirst } = range
    if (!turns.hasTime()) await turns.wait(account, !isFirst)
    const known = find(request, after)
    if (known) return known
    if (!state) return load(account, range, ++lastMoment)
    return share(since, [account, after], async (begin) => {
      const piece = await load(account, range, begin())
      store(account, after, piece)
      return piece
    })
  }

  /** Loads a piece. Where as many plants are too long for one, an eighth of them is tried. */
  async function load(account: string, { isFirst, ...range }: PieceRange, begin: number): Promise<Piece> {
    const { json, last, more, version } = await plants.read(account, range)
    if (json === undefined) {
      if (!turns.hasTime()) await turns.wait(account, true)
      return load(account, shrink({ ...range, isFirst }), begin)
    }
    const comma = json.length === 0 ? '' : ','
    const text = enclose(isFirst ? '[' : comma, json, more ? '' : ']')
    const mayDouble = 2 * text.length <= MAX_PIECE_BYTES && range.limit < MAX_PIECE_PLANTS
    const nextLimit = mayDouble ? 2 * range.limit : range.limit
    return { json: text, last, more, nextLimit, begin, version }
  }

  /** Reads a list in pieces. Not a generator, which would keep the last piece until the next one. */
  function readPieces(request: ListRequest, range: PieceRange, first?: Piece): JsonPieces {
    let known = first
    let next: PieceRange | undefined = range
    let isClosed = false

    async function readNext(range: PieceRange): Promise<Buffer> {
      const { json, more, last, nextLimit } = known ?? find(request, range.after) ?? (await readPiece(request, range))
      known = undefined
      isClosed = !more
      const hasNext = more && last < (request.state?.last ?? Number.POSITIVE_INFINITY)
      next = hasNext ? { ...range, isFirst: false, after: last, limit: nextLimit } : undefined
      return json
    }

    return async () => {
      if (next) return readNext(next)
      if (isClosed) return undefined
      isClosed = true
      return CLOSING
    }
  }

  /** Reads the plants of a page, whose end has to be known before its text. */
  async function readPage(request: ListRequest, { after = 0, ...rest }: ListRange): Promise<PlantList> {
    const range = { ...rest, after }
    const { account, since } = request
    const page = await share(since, [account, range], async (begin) => {
      await turns.wait(account)
      begin()
      return plants.read(account, range)
    })
    const { json, last, more } = page
    const version = versionOf(page)
    const next = more ? last : undefined
    if (json !== undefined) return { json: enclose('[', json, ']'), next, version }
    return { json: readPieces(request, { ...shrink(range), until: last, isFirst: true }), next, version }
  }

  return {
    async read(account, { limit, ...bounds } = {}, isKnown) {
      const since = ++lastMoment
      const state = limit === undefined || isKnown ? await readState(account) : undefined
      const version = state && versionOf(state)
      if (version !== undefined && isKnown?.(version)) return { json: EMPTY, next: undefined, version }
      if (limit !== undefined) return readPage({ account, since }, { limit, ...bounds })
      if (!state || state.last === 0) return { json: EMPTY, next: undefined, version }
      const range = { ...bounds, after: bounds.after ?? 0, limit: FIRST_PIECE_PLANTS, isFirst: true }
      const rest = { next: undefined, version }
      const isWhole = Object.values(bounds).every((bound) => bound === undefined)
      if (!isWhole) return { json: readPieces({ account, since }, { ...range, until: state.last }), ...rest }
      const request = { account, since, state }
      const first = find(request, 0) ?? (await readPiece(request, range))
      return { json: first.more ? readPieces(request, range, first) : first.json, ...rest }
    },
  }
}

/** Returns the version of a list. One that has never had a plant has none in the database. */
function versionOf({ version, last }: ListState): string | undefined {
  return version ?? (last === 0 ? 'empty' : undefined)
}

/** Makes a range shorter. */
function shrink<Range extends ListRange>(range: Range): Range {
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

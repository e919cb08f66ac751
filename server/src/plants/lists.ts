import { type ListRange, type ListState, MAX_PIECE_BYTES, type Plants } from '@plant-store/prisma'
import type { JsonPieces } from '../requests/responses.ts'
import type { IsKnown } from '../requests/router.ts'
import { createTurns, oncePerTurn } from '../requests/turns.ts'
import { createListCache, type ListRequest, type Piece } from './list-cache.ts'

/** How many plants the first piece of a list may have, and any piece. */
const FIRST_PIECE_PLANTS = 512
const MAX_PIECE_PLANTS = 1_024

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

/** What to read for a piece. */
interface PieceRange extends ListRange {
  readonly after: number
  /** Whether the text of the list begins with it. */
  readonly isFirst: boolean
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
  const cache = createListCache()
  const readState = oncePerTurn<ListState>(plants.states)

  /** Reads a piece of a list, or takes it from another request that has read it since this one arrived. */
  async function readPiece(request: ListRequest, range: PieceRange): Promise<Piece> {
    const { account, arrival, state } = request
    const { after, isFirst } = range
    if (!turns.hasTime()) await turns.wait(account, !isFirst)
    const known = cache.find(request, after)
    if (known) return known
    if (!state) return load(account, range, cache.nextMoment())
    return cache.share(arrival, [account, after], async (begin) => {
      const piece = await load(account, range, begin())
      cache.add(account, after, piece)
      return piece
    })
  }

  /** Loads a piece. Where as many plants are too long for one, an eighth of them is tried. */
  async function load(account: string, { isFirst, ...range }: PieceRange, moment: number): Promise<Piece> {
    const { json, last, more, version } = await plants.read(account, range)
    if (json === undefined) {
      if (!turns.hasTime()) await turns.wait(account, true)
      return load(account, shrink({ ...range, isFirst }), moment)
    }
    const comma = json.length === 0 ? '' : ','
    const text = enclose(isFirst ? '[' : comma, json, more ? '' : ']')
    const mayDouble = 2 * text.length <= MAX_PIECE_BYTES && range.limit < MAX_PIECE_PLANTS
    const nextLimit = mayDouble ? 2 * range.limit : range.limit
    return { json: text, last, more, nextLimit, moment, version }
  }

  /** Reads a list in pieces. Not a generator, which would keep the last piece until the next one. */
  function readPieces(request: ListRequest, range: PieceRange, first?: Piece): JsonPieces {
    let known = first
    let next: PieceRange | undefined = range
    let isClosed = false

    async function readNext(range: PieceRange): Promise<Buffer> {
      const { json, more, last, nextLimit } =
        known ?? cache.find(request, range.after) ?? (await readPiece(request, range))
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
    const { account, arrival } = request
    const page = await cache.share(arrival, [account, range], async (begin) => {
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
      const arrival = cache.nextMoment()
      const state = limit === undefined || isKnown ? await readState(account) : undefined
      const version = state && versionOf(state)
      if (version !== undefined && isKnown?.(version)) return { json: EMPTY, next: undefined, version }
      if (limit !== undefined) return readPage({ account, arrival }, { limit, ...bounds })
      if (!state || state.last === 0) return { json: EMPTY, next: undefined, version }
      const range = { ...bounds, after: bounds.after ?? 0, limit: FIRST_PIECE_PLANTS, isFirst: true }
      const rest = { next: undefined, version }
      const isWhole = Object.values(bounds).every((bound) => bound === undefined)
      if (!isWhole) return { json: readPieces({ account, arrival }, { ...range, until: state.last }), ...rest }
      const request = { account, arrival, state }
      const first = cache.find(request, 0) ?? (await readPiece(request, range))
      return { json: first.more ? readPieces(request, range, first) : first.json, ...rest }
    },
  }
}

/** Returns the version of a list. One that has never had a plant has none in the database. */
function versionOf({ version, last }: ListState): string | undefined {
  return version ?? (last === 0 ? 'empty' : undefined)
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

import { setImmediate as nextTurn } from 'node:timers/promises'
import type { KnownList, ListState, PlantRow, Plants } from '../database.ts'
import { oncePerTurn } from './once-per-turn.ts'
import type { Access } from './sql.ts'

/** The SQL of an engine for plants. Parameters are `$1`, `$2` and so on; every statement may run twice. */
export interface PlantStatements {
  /** Inserts a plant, unless its account has the id: account, id, name, tag. */
  readonly insertOne: string
  /** Inserts plants in order, each unless its account has the id: a JSON array of [account, id, name, tag]. */
  readonly insertMany: string
  /**
   * Selects for each plant, in order, whether the stored one has its name and tag, NULL if its account lacks its id: as
   * `insertMany`. Of a text with another length, no more than the length is read.
   */
  readonly compareStored: string
  /**
   * Selects the first plants in a part of a list: account, the `seq` before it, its last one, how many plants, the maximum
   * of bytes of each, as text and on average as JSON. One row: the plants as JSON objects separated by commas, NULL if one is
   * too long; the `seq` of the last, 0 if there is none; whether more follow in this part.
   */
  readonly selectPiece: string
  /** Selects lists, a row for each as {@link ListState}: a JSON array of [account, last, lastCreatedAt]. */
  readonly selectStates: string
}

/** A piece of more than one plant has at most this many bytes of JSON. */
const MAX_PIECE_BYTES = 2 ** 20
/**
 * The first piece of a page has only plants of at most this many bytes, so that a page needs little memory until it is known
 * to need more. A page without such a piece begins with the bracket alone.
 */
const MAX_SHORT_BYTES = 2 ** 10
/** The first piece of a list has at most this many plants, a later one up to twice as many as the one before it. */
const FIRST_PIECE_PLANTS = 512
const MAX_PIECE_PLANTS = 4_096
/** The states of so many lists are read by one statement: more would cost enough for PostgreSQL to compile it. */
export const MAX_STATES = 32
/**
 * The news of a state are at most so many plants, and so many bytes of JSON; each plant has its part of these. Nothing is
 * reserved for them: a thousand lists of one turn of the event loop bring 8 MB, and no longer text is turned into JSON.
 */
export const MAX_NEWS_PLANTS = 64
export const MAX_NEWS_BYTES = 2 ** 13
/** Of a list whose end is not known. */
const NO_END = Number.MAX_SAFE_INTEGER

type StoredPlant = [account: string, id: string, name: string, tag: string | null]
type Integer = number | string
type Flag = boolean | number
type PieceRow = [json: string | null, last: Integer, more: Flag]
type StateRow = [edits: Integer, last: Integer, lastCreatedAt: number | null, hasKnown: Flag, news: string | null]

/** A piece of a list; `json` is null if there is none, or its plants are too long. */
interface Piece {
  readonly json: string | null
  readonly last: number
  readonly more: boolean
}

/** Returns how many bytes of JSON the first piece of a page has at most. */
export function maxPageBytes(limit: number): number {
  return limit * Math.min(MAX_SHORT_BYTES, Math.floor(MAX_PIECE_BYTES / limit))
}

/** Creates the plants of a database. */
export function createPlants(statements: PlantStatements, { sql, retry }: Access): Plants {
  async function selectPiece(
    account: string,
    after: number,
    end: number,
    limit: number,
    // A plant alone may have any length.
    maxBytes: number = limit === 1 ? NO_END : Math.floor(MAX_PIECE_BYTES / limit),
  ): Promise<Piece> {
    const values = [account, after, end, limit, maxBytes]
    const [row] = await retry(() => sql.query<PieceRow>(statements.selectPiece, ...values))
    const [json = null, last = 0, more = false] = row ?? []
    return { json, last: Number(last), more: Boolean(more) }
  }

  /** Selects the beginning of a list or a page: once for all requests of a turn that ask for the same. */
  const selectFirst = oncePerTurn<Piece>(async (keys) =>
    keys.map((key) => {
      const [account, after, end, limit, maxBytes] = JSON.parse(key) as [string, number, number, number, number]
      return selectPiece(account, after, end, limit, maxBytes)
    }),
  )

  async function selectStates(lists: readonly KnownList[]): Promise<ListState[]> {
    const json = JSON.stringify(lists.map(({ account, last, lastCreatedAt }) => [account, last, lastCreatedAt]))
    const rows = await retry(() => sql.query<StateRow>(statements.selectStates, json))
    return rows.map(([edits, last, lastCreatedAt, hasKnown, news]) => ({
      edits: Number(edits),
      last: Number(last),
      lastCreatedAt,
      hasKnown: Boolean(hasKnown),
      news: news ?? undefined,
    }))
  }

  return {
    insert(plants) {
      const rows = plants.map(toStoredPlant)
      const [row] = rows
      // A lone client waits for every microsecond.
      if (row && rows.length === 1) return retry(() => sql.execute(statements.insertOne, ...row))
      return retry(() => sql.execute(statements.insertMany, JSON.stringify(rows)))
    },

    async compare(plants) {
      const json = JSON.stringify(plants.map(toStoredPlant))
      const rows = await retry(() => sql.query<[isSame: Flag | null]>(statements.compareStored, json))
      return rows.map(([isSame]) => (isSame === null ? undefined : Boolean(isSame)))
    },

    async list(account, { after = 0, until = NO_END, limit } = {}) {
      const isPage = limit !== undefined
      const count = limit ?? FIRST_PIECE_PLANTS
      const room = isPage ? maxPageBytes(count) : MAX_PIECE_BYTES
      const first = await selectFirst(JSON.stringify([account, after, until, count, Math.floor(room / count)]))
      const end = isPage ? first.last : until
      const read = (from: number, plants: number) => selectPiece(account, from, end, plants)
      const piece = { ...first, more: first.more && !isPage }
      const pieces = readPieces(piece, after, count, room < MAX_PIECE_BYTES, read)
      return { pieces, last: first.last, more: first.more }
    },

    async states(lists) {
      const parts: Promise<ListState[]>[] = []
      for (let first = 0; first < lists.length; first += MAX_STATES) {
        parts.push(selectStates(lists.slice(first, first + MAX_STATES)))
      }
      return (await Promise.all(parts)).flat()
    },
  }
}

function toStoredPlant({ account, id, name, tag }: PlantRow): StoredPlant {
  return [account, id, name, tag]
}

/**
 * Reads a part of a list as pieces of a JSON array. Each is one short statement, so no long transaction holds back a
 * checkpoint; one whose plants are too long is read again with fewer of them. Whoever reads needs room for the first piece
 * as it was requested, and for `MAX_PIECE_BYTES` then. Not a generator, which would keep the last piece until the next one.
 *
 * @param first the first piece, which was read with `limit`
 * @param isShort whether there was room for short plants only
 * @param read reads a piece of at most so many plants after a `seq`
 */
function readPieces(
  first: Piece,
  after: number,
  limit: number,
  isShort: boolean,
  read: (after: number, limit: number) => Promise<Piece>,
): AsyncIterableIterator<string, undefined> {
  let known: Piece | undefined = first
  let position = after
  let count = limit
  let opening = '['
  let ended = false

  async function readNext(): Promise<Piece> {
    // Other requests get their turn, however fast this list is read.
    if (!known) await nextTurn()
    let piece = known ?? (await read(position, count))
    known = undefined
    while (piece.json === null && piece.last > 0) {
      count = Math.ceil(count / 8)
      piece = await read(position, count)
    }
    return piece
  }

  return {
    [Symbol.asyncIterator]() {
      return this
    },

    async next() {
      if (ended) return { value: undefined, done: true }
      const begin = opening
      if (isShort && known?.json === null && known.last > 0) {
        known = undefined
        opening = ''
        return { value: begin, done: false }
      }
      const { json, last, more } = await readNext()
      opening = ','
      position = last
      count = Math.min(count * 2, MAX_PIECE_PLANTS)
      ended = !more
      // The bracket belongs to the last piece, so that a list of one piece can be sent with its length.
      if (json === null) return { value: begin === '[' ? '[]' : ']', done: false }
      return { value: begin + json + (more ? '' : ']'), done: false }
    },
  }
}

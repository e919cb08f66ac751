import type { SqlQueryable } from '@prisma/driver-adapter-utils'
import type { JsonPieces, KnownList, ListState, PlantRow, Plants } from './database.ts'
import { oncePerTurn } from './once-per-turn.ts'
import { type Prisma, toQuery } from './prisma-client.ts'
import { type Dialect, MAX_STATES } from './statements.ts'

/** A piece of more than one plant has at most this many bytes of JSON, and at most so many plants. */
const MAX_PIECE_BYTES = 2 ** 16
const MAX_PIECE_PLANTS = 1_024
/**
 * The first piece of a page has only plants of at most this many bytes, so that a page needs little memory until it is known
 * to need more. If one of its plants is longer, the page begins with the bracket alone.
 */
const MAX_SHORT_BYTES = 2 ** 10
/** The first piece of a list has at most this many plants. */
const FIRST_PIECE_PLANTS = 512
/** The end of a list whose end is not known. */
const NO_END = Number.MAX_SAFE_INTEGER

type StoredPlant = [account: string, id: string, name: string, tag: string | null]
/** As Prisma Client reads them, and the adapter: the engines have different types for these. */
type Integer = bigint | number | string
type Flag = boolean | bigint | number
interface PieceRow {
  json: string | null
  last: Integer
  more: Flag
}
interface ComparedRow {
  isSame: Flag | null
}
type StateRow = [edits: Integer, last: Integer, lastCreatedAt: number | null, hasKnown: Flag, news: string | null]

/** A part of a list, as one statement reads it. */
interface Part {
  readonly account: string
  /** The `seq` before it, and the last one that it may have. */
  readonly after: number
  readonly end: number
  /** How many plants it has at most, and how many bytes each of them, as text and on average as JSON. */
  readonly count: number
  readonly maxBytes: number
}

/** The plants of a part of a list, as a statement has read them. */
interface Piece {
  /** JSON objects separated by commas; null if there is none, or they are too long. */
  readonly json: string | null
  /** The `seq` of the last one; 0 if there is none. */
  readonly last: number
  /** Whether plants follow that one before the end. */
  readonly more: boolean
}

/** Returns how many bytes of JSON the first piece of a page has at most. */
function maxPageBytes(limit: number): number {
  return limit * Math.min(MAX_SHORT_BYTES, Math.floor(MAX_PIECE_BYTES / limit))
}

/** Creates the plants of a database. What every list takes calls the adapter, past Prisma Client. */
export function createPlants(prisma: Prisma, adapter: SqlQueryable, dialect: Dialect): Plants {
  async function selectPiece({ account, after, end, count, maxBytes }: Part): Promise<Piece> {
    const values = [account, after, end, count, maxBytes]
    const rows = await prisma.$queryRawUnsafe<PieceRow[]>(dialect.selectPiece, ...values)
    const [{ json, last, more } = { json: null, last: 0, more: false }] = rows
    return { json, last: Number(last), more: Boolean(more) }
  }

  /** Selects the beginning of a list or a page: once for all requests of a turn that ask for the same. */
  const selectFirst = oncePerTurn<Piece>(async (keys) => keys.map((key) => selectPiece(JSON.parse(key) as Part)))

  async function selectStates(lists: readonly KnownList[]): Promise<ListState[]> {
    const json = JSON.stringify(lists.map(({ account, last, lastCreatedAt }) => [account, last, lastCreatedAt]))
    const { rows } = await adapter.queryRaw(toQuery(dialect.selectStates, json))
    return (rows as StateRow[]).map(([edits, last, lastCreatedAt, hasKnown, news]) => ({
      edits: Number(edits),
      last: Number(last),
      lastCreatedAt,
      hasKnown: Boolean(hasKnown),
      news: news ?? undefined,
    }))
  }

  return {
    insert: (plants) => prisma.$executeRawUnsafe(dialect.insertPlants, JSON.stringify(plants.map(toStoredPlant))),

    async compare(plants) {
      const json = JSON.stringify(plants.map(toStoredPlant))
      const rows = await prisma.$queryRawUnsafe<ComparedRow[]>(dialect.comparePlants, json)
      return rows.map(({ isSame }) => (isSame === null ? undefined : Boolean(isSame)))
    },

    async list(account, { after = 0, until = NO_END, limit } = {}) {
      const isPage = limit !== undefined
      const count = limit ?? FIRST_PIECE_PLANTS
      const maxBytes = isPage ? maxPageBytes(count) / count : Math.floor(MAX_PIECE_BYTES / count)
      const part: Part = { account, after, end: until, count, maxBytes }
      const first = await selectFirst(JSON.stringify(part))
      const { last, more } = first
      const isWhole = !isTooLong(first) && (isPage || !more)
      if (!isPage) return { pieces: readPieces(part, first, selectPiece), isWhole, last, more }
      // What the first statement has found is the page, also where it is read in pieces after the bracket.
      const beginning = isTooLong(first) ? { json: '', last: after, more: true } : { ...first, more: false }
      return { pieces: readPieces({ ...part, end: last }, beginning, selectPiece), isWhole, last, more }
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

/**
 * Reads a list as pieces of a JSON array. Each is one short statement, so no long transaction holds back a checkpoint. One
 * whose plants are too long is read again with an eighth of them; after one that fits, the next has up to twice as many.
 * Not a generator, which would keep the last piece until the next one.
 *
 * @param part where the list begins and ends, and how many plants its first piece has at most
 * @param first the first piece; with an empty `json` it is the bracket alone, and all plants are read after it
 */
function readPieces(
  { account, after, end, count }: Part,
  first: Piece,
  select: (part: Part) => Promise<Piece>,
): JsonPieces {
  let known: Piece | undefined = first
  let bracket = '['
  let comma = ''
  let ended = false

  function read(): Promise<Piece> {
    // A plant alone may have any length.
    const maxBytes = count === 1 ? NO_END : Math.floor(MAX_PIECE_BYTES / count)
    return select({ account, after, end, count, maxBytes })
  }

  async function readNext(): Promise<Piece> {
    let piece = known ?? (await read())
    known = undefined
    while (isTooLong(piece)) {
      count = Math.ceil(count / 8)
      piece = await read()
    }
    after = piece.last
    count = Math.min(count * 2, MAX_PIECE_PLANTS)
    return piece
  }

  return {
    [Symbol.asyncIterator]() {
      return this
    },

    async next() {
      if (ended) return { value: undefined, done: true }
      const { json, more } = await readNext()
      // The closing bracket belongs to the last piece, so that a list of one piece can be sent with its length.
      const value = bracket + (json ? comma + json : '') + (more ? '' : ']')
      bracket = ''
      if (json) comma = ','
      ended = !more
      return { value, done: false }
    },
  }
}

/** Returns whether there are plants, and they are too long for one piece. */
function isTooLong({ json, last }: Piece): boolean {
  return json === null && last > 0
}

function toStoredPlant({ account, id, name, tag }: PlantRow): StoredPlant {
  return [account, id, name, tag]
}

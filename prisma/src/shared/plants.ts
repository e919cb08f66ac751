import { setImmediate as nextTurn } from 'node:timers/promises'
import type { KnownList, ListChange, Plants, Retry } from '../database.ts'
import { oncePerTurn } from './once-per-turn.ts'
import type { Sql } from './sql.ts'

/** The SQL of an engine for plants. Parameters are `$1`, `$2` and so on; every statement may run twice. */
export interface PlantStatements {
  /** Inserts a plant, unless its account has the id: account, id, name, tag. */
  readonly insertOne: string
  /** Inserts plants in order, each unless its account has the id: a JSON array of [account, id, name, tag]. */
  readonly insertMany: string
  /** Selects account, id, name and tag of those that are stored: a JSON array of [account, id]. */
  readonly selectStored: string
  /** Selects the `seq` of the last plant: account. */
  readonly selectLast: string
  /**
   * Selects the first plants in a part of a list: account, the `seq` before it, its last one, how many plants, the maximum
   * of bytes of text of each. One row: the plants as JSON objects separated by commas, NULL if one is too long; the `seq` of
   * the last, 0 if there is none; whether more follow in this part.
   */
  readonly selectPiece: string
  /** Selects what has changed in lists, a row for each as {@link ListChange}: a JSON array of [account, last]. */
  readonly selectChanges: string
}

/** A piece of more than one plant has at most this many bytes of text. */
const MAX_PIECE_BYTES = 2 ** 20
/**
 * The first piece of a page has only plants of at most this many bytes of text, so that a page needs little memory until it
 * is known to need more. A page without such a piece begins with the bracket alone.
 */
const MAX_SHORT_BYTES = 2 ** 10
/** A piece has at most this many plants. */
const MAX_PIECE_PLANTS = 4_096
/** Up to this many new plants are read together with what else has changed in a list. */
export const MAX_CHANGED_PLANTS = 512
/** Each of them has at most this many bytes of text. */
export const MAX_CHANGED_BYTES = 512
/** The changes of so many lists are read by one statement: more would cost enough for PostgreSQL to compile it. */
export const MAX_CHANGED_LISTS = 32
/** Of a list whose end is not known. */
const NO_END = Number.MAX_SAFE_INTEGER

type StoredPlant = [account: string, id: string, name: string, tag: string | null]
type Integer = number | string
type PieceRow = [json: string | null, last: Integer, more: boolean | number]
type ChangeRow = [edits: Integer, last: Integer, json: string | null]

/** A piece of a list; `json` is null if there is none, or its plants are too long. */
interface Piece {
  readonly json: string | null
  readonly last: number
  readonly more: boolean
}

/** Returns how many bytes of text the first piece of a page has at most, without what JSON adds. */
export function maxPageBytes(limit: number): number {
  return limit * Math.min(MAX_SHORT_BYTES, Math.floor(MAX_PIECE_BYTES / limit))
}

/** Creates the plants of a database. */
export function createPlants(statements: PlantStatements, sql: Sql, retry: Retry): Plants {
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
      const [account, after, limit] = JSON.parse(key) as [string, number, number]
      return selectPiece(account, after, NO_END, limit, maxPageBytes(limit) / limit)
    }),
  )

  async function selectLast(account: string): Promise<number> {
    const [row] = await retry(() => sql.query<[Integer]>(statements.selectLast, account))
    return Number(row?.[0])
  }

  async function selectChanges(lists: readonly KnownList[]): Promise<ListChange[]> {
    const json = JSON.stringify(lists.map(({ account, last }) => [account, last]))
    const rows = await retry(() => sql.query<ChangeRow>(statements.selectChanges, json))
    return rows.map(([edits, last, text]) => ({ edits: Number(edits), last: Number(last), json: text ?? undefined }))
  }

  return {
    insert(plants) {
      const rows = plants.map(({ account, id, name, tag }): StoredPlant => [account, id, name, tag])
      const [row] = rows
      // A lone client waits for every microsecond.
      if (row && rows.length === 1) return retry(() => sql.execute(statements.insertOne, ...row))
      return retry(() => sql.execute(statements.insertMany, JSON.stringify(rows)))
    },

    async find(keys) {
      const json = JSON.stringify(keys.map(({ account, id }) => [account, id]))
      const rows = await retry(() => sql.query<StoredPlant>(statements.selectStored, json))
      return rows.map(([account, id, name, tag]) => ({ account, id, name, tag }))
    },

    async list(account, { limit, after = 0 } = {}) {
      const first = await selectFirst(JSON.stringify([account, after, limit ?? MAX_PIECE_PLANTS]))
      const isPage = limit !== undefined
      const last = isPage || !first.more ? first.last : await selectLast(account)
      const read = (from: number, plants: number) => selectPiece(account, from, last, plants)
      const pieces = readPieces({ ...first, more: first.last < last }, after, limit ?? MAX_PIECE_PLANTS, read)
      return { pieces, last, more: isPage && first.more }
    },

    async changes(lists) {
      const parts: Promise<ListChange[]>[] = []
      for (let first = 0; first < lists.length; first += MAX_CHANGED_LISTS) {
        parts.push(selectChanges(lists.slice(first, first + MAX_CHANGED_LISTS)))
      }
      return (await Promise.all(parts)).flat()
    },
  }
}

/**
 * Reads a part of a list as pieces of a JSON array. Each is one short statement, so no long transaction holds back a
 * checkpoint; where plants are long, a piece has fewer of them.
 *
 * @param piece the first one, which was read with `limit`
 */
async function* readPieces(
  piece: Piece,
  after: number,
  limit: number,
  read: (after: number, limit: number) => Promise<Piece>,
): AsyncGenerator<string, undefined> {
  let position = after
  let opening = '['
  // There was room for short plants only.
  if (piece.json === null && piece.last > 0 && maxPageBytes(limit) < MAX_PIECE_BYTES) {
    yield opening
    opening = ''
    piece = await read(position, limit)
  }
  while (piece.last > 0) {
    if (piece.json === null) {
      limit = Math.ceil(limit / 8)
    } else {
      // The bracket belongs to the last piece, so that a list of one piece can be sent with its length.
      yield opening + piece.json + (piece.more ? '' : ']')
      if (!piece.more) return
      opening = ','
      position = piece.last
      limit = Math.min(limit * 2, MAX_PIECE_PLANTS)
      // Other requests get their turn, however fast this list is read.
      await nextTurn()
    }
    piece = await read(position, limit)
  }
  yield opening === '[' ? '[]' : ']'
}

import type { KnownList, ListState, PlantRow, Plants } from '../database.ts'
import { oncePerTurn } from './once-per-turn.ts'
import { isTooLong, type Piece, type ReadPiece, readPieces } from './pieces.ts'
import type { Access } from './sql.ts'
import { MAX_STATES, type PlantStatements } from './statements.ts'

/** A piece of more than one plant has at most this many bytes of JSON. */
const MAX_PIECE_BYTES = 2 ** 20
/**
 * The first piece of a page has only plants of at most this many bytes, so that a page needs little memory until it is known
 * to need more. A page without such a piece begins with the bracket alone.
 */
const MAX_SHORT_BYTES = 2 ** 10
/** The first piece of a list has at most this many plants. */
const FIRST_PIECE_PLANTS = 512
/** The end of a list whose end is not known. */
const NO_END = Number.MAX_SAFE_INTEGER

type StoredPlant = [account: string, id: string, name: string, tag: string | null]
type Integer = number | string
type Flag = boolean | number
type PieceRow = [json: string | null, last: Integer, more: Flag]
type StateRow = [edits: Integer, last: Integer, lastCreatedAt: number | null, hasKnown: Flag, news: string | null]

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
      const count = limit ?? FIRST_PIECE_PLANTS
      const maxBytes = limit === undefined ? Math.floor(MAX_PIECE_BYTES / count) : maxPageBytes(limit) / limit
      const first = await selectFirst(JSON.stringify([account, after, until, count, maxBytes]))
      const { last, more } = first
      if (limit === undefined) {
        const read: ReadPiece = (from, plants) => selectPiece(account, from, until, plants)
        return { pieces: readPieces(first, after, count, read), last, more }
      }
      // What the first statement has found is the page, also where it is read in pieces.
      const read: ReadPiece = (from, plants) => selectPiece(account, from, last, plants)
      const begin = isTooLong(first) ? { json: '', last: after, more: true } : { ...first, more: false }
      return { pieces: readPieces(begin, after, limit, read), last, more }
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

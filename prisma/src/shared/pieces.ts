import { setImmediate as nextTurn } from 'node:timers/promises'

/** Some plants of a list, as a statement has read them. */
export interface Piece {
  /** JSON objects separated by commas; null if there is none, or they are too long. */
  readonly json: string | null
  /** The `seq` of the last one; 0 if there is none. */
  readonly last: number
  readonly more: boolean
}

/** Reads a piece of at most so many plants after a `seq`. */
export type ReadPiece = (after: number, limit: number) => Promise<Piece>

const MAX_PIECE_PLANTS = 4_096

/** Returns whether there are plants, and they are too long for one piece. */
export function isTooLong({ json, last }: Piece): boolean {
  return json === null && last > 0
}

/**
 * Reads a list as pieces of a JSON array. Each is one short statement, so no long transaction holds back a checkpoint. One
 * whose plants are too long is read again with an eighth of them; after one that fits, the next has up to twice as many.
 * Not a generator, which would keep the last piece until the next one.
 *
 * @param first the first piece; with an empty `json` it is the bracket alone, and all plants are read after it
 * @param after the `seq` before the first piece
 * @param limit how many plants the first piece has at most
 */
export function readPieces(
  first: Piece,
  after: number,
  limit: number,
  read: ReadPiece,
): AsyncIterableIterator<string, undefined> {
  let known: Piece | undefined = first
  let position = after
  let count = limit
  let opening = '['
  let ended = false

  async function readFitting(): Promise<Piece> {
    // Other requests get their turn, however fast this list is read.
    if (!known) await nextTurn()
    let piece = known ?? (await read(position, count))
    known = undefined
    while (isTooLong(piece)) {
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
      const { json, last, more } = await readFitting()
      const separator = json === null && opening === ',' ? '' : opening
      opening = json === '' ? '' : ','
      position = last
      count = Math.min(count * 2, MAX_PIECE_PLANTS)
      ended = !more
      // The bracket belongs to the last piece, so that a list of one piece can be sent with its length.
      return { value: separator + (json ?? '') + (more ? '' : ']'), done: false }
    },
  }
}

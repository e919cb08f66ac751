import { setImmediate as nextTurn } from 'node:timers/promises'

/** A piece of a list. */
export interface ListPiece {
  /** Plants as JSON objects, separated by commas. */
  readonly json: string
  /** The `seq` of the last plant. */
  readonly last: number
}

/** Where a part of a list ends, and whether plants follow it. */
export interface ListEnd {
  readonly last: number
  readonly more: boolean
}

/** Reads the first plants after a `seq`, at most `limit`; undefined if none is left, or they are too long. */
export type ReadPiece = (after: number, limit: number) => Promise<ListPiece | undefined>

/** A piece of more than one plant has at most this many bytes of text. */
const MAX_PIECE_BYTES = 2 ** 20
/** Up to this many new plants are read together with what else has changed in a list. */
export const MAX_CHANGED_PLANTS = 512
/** Each of them has at most this many bytes of text. */
export const MAX_CHANGED_BYTES = 512

/** A piece has at most this many plants. */
const MAX_PIECE_PLANTS = 4_096

/** Returns how many bytes of text each plant of a piece may have. A plant alone may have any number. */
export function maxPlantBytes(limit: number): number {
  return limit === 1 ? Number.MAX_SAFE_INTEGER : Math.floor(MAX_PIECE_BYTES / limit)
}

/**
 * Reads a list from `after` to `last` as pieces of a JSON array. Each piece is one short statement, so no long
 * transaction holds back a checkpoint; where plants are long, a piece has fewer of them.
 */
export async function* readPieces(
  readPiece: ReadPiece,
  after: number,
  last: number,
): AsyncGenerator<string, undefined> {
  let position = after
  let opening = '['
  for (let limit = MAX_PIECE_PLANTS; position < last; ) {
    const piece = await readPiece(position, limit)
    if (!piece && limit === 1) break
    limit = piece ? Math.min(limit * 2, MAX_PIECE_PLANTS) : Math.ceil(limit / 8)
    if (!piece) continue
    position = piece.last
    // Other requests get their turn, however fast this list is read.
    if (opening === ',') await nextTurn()
    // The bracket belongs to the last piece, so that a list of one piece can be sent with its length.
    yield opening + piece.json + (position < last ? '' : ']')
    opening = ','
  }
  if (opening === '[') yield '[]'
  else if (position < last) yield ']'
}

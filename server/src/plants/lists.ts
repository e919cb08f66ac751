import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { type ListPiece, type ListRange, MAX_PIECE_BYTES, type Plants } from '@plant-store/prisma'
import { LRUCache } from 'lru-cache'
import { unavailable } from '../requests/errors.ts'
import { oncePerTurn } from '../requests/once-per-turn.ts'
import type { NextPiece } from '../requests/responses.ts'
import { inTimeSlices } from './time-slices.ts'

/** How many plants the first piece of a list may have, and any piece. */
const FIRST_PIECE_PLANTS = 512
const MAX_PIECE_PLANTS = 1_024
/** The size of the longest text that is read before it is sent, and is cached whole if it is a list, in bytes. */
const MAX_LIST_BYTES = 2 ** 20
/** The size of all cached pieces, each with {@link PIECE_BYTES}. */
const MAX_CACHE_BYTES = 16 * MAX_LIST_BYTES
/** What a cached piece takes in memory besides its JSON: the name of the account, objects, and an entry of the cache. */
const PIECE_BYTES = 1_024

/** Which plants of an account to list. Default: all. */
type Selection = Omit<ListRange, 'limit' | 'until'> & { limit?: number | undefined }

/** Plants of an account as the text of a JSON array. */
export interface PlantList extends ListText {
  /** Where it ends: the `seq` of its last plant; of a part without one, that where it begins. */
  readonly end: number
  /** Whether plants follow that the limit has left out. */
  readonly more: boolean
}

interface ListText {
  /** The text: whole, or how to get its first piece. Empty where the client has it. */
  readonly json: Buffer | NextPiece
  /**
   * Names exactly this text: the version that the whole list had in the statement that read it, or a hash of a part.
   * Undefined: it is too long to be read before it is sent, or was changed meanwhile.
   */
  readonly version: string | undefined
}

/**
 * Reads the selected plants of an account. Only pieces of the whole list are cached, of a longer one those of its first MiB.
 *
 * @param known the versions of which the client has the text, which then need not be read. Default: none
 */
type ReadList = (account: string, selection?: Selection, known?: readonly string[]) => Promise<PlantList>

/** What to read for a piece. */
interface PieceRange extends ListRange {
  readonly after: number
  /** The size of the pieces before it; 0: the text of the list begins with it. */
  readonly bytes: number
  /** The version that the whole list has; undefined: it is not known, or this is a part, of which nothing is cached. */
  readonly version: string | undefined
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
  /** The hash of its text, once it was needed. */
  hash?: string
}

const FIRST_RANGE = { after: 0, limit: FIRST_PIECE_PLANTS, bytes: 0, version: undefined }
const EMPTY = Buffer.from('[]')
/** The version of a list without plants, which may have none in the database. */
const EMPTY_VERSION = 'empty'

/**
 * Creates what reads the lists of all accounts, as JSON text (docs/decisions/012-list-cache.md).
 *
 * A text is in one of four states:
 * - *known*: the version of the list, read after the request has arrived, is one that the client has, or it has no plants.
 *   Nothing is read
 * - *whole*: it is one piece, cached with that version, or read. It is named by the version that was read with it, or as a
 *   part by its hash
 * - *checked*: up to a MiB in several pieces is read before it is sent. It is named by their version if all had the same, or
 *   as a part by the hash of their hashes. Each piece is then taken from the cache, or read again, up to the same end; one
 *   with another hash breaks the connection
 * - *streamed*: any other has no name. Each piece is read once the one before is sent, up to what was the end
 *
 * @param maxSize the size of all cached pieces, in bytes
 */
export function createLists(plants: Plants, maxSize: number = MAX_CACHE_BYTES): ReadList {
  const cache = new LRUCache<string, Piece>({ maxSize, sizeCalculation: sizeOf })
  const readState = oncePerTurn(plants.states)
  const tryPage = inTimeSlices(plants.read)
  const readFitting = inTimeSlices(shrinkToFit)

  /** Reads a piece. Where as many plants are too long for one, an eighth of them is tried. */
  async function shrinkToFit(account: string, first: PieceRange): Promise<Piece> {
    for (let range = first; ; range = { ...range, limit: shrink(range.limit) }) {
      const { json, ...read } = await plants.read(account, range)
      if (json !== undefined) return toPiece({ ...read, json }, range)
      assert(range.limit > 1, 'the statement of a list selects one plant, however long')
    }
  }

  /**
   * Returns a piece, which is read if it is not cached. It is cached under its own version, since plants may have changed
   * after that of its request was read; what ends before the list does is not.
   */
  async function getPiece(account: string, range: PieceRange): Promise<Piece> {
    const { version, after, until, bytes } = range
    if (version === undefined) return readFitting(account, range)
    const keyOf = (own: string) => JSON.stringify([account, own, after])
    const cached = cache.get(keyOf(version))
    assert(!cached || cached.version === version, 'a piece is cached under its own version')
    if (cached) return cached
    const piece = await readFitting(account, range)
    const isCached = piece.version !== undefined && until === undefined && bytes + sizeOf(piece) <= MAX_LIST_BYTES
    if (isCached) cache.set(keyOf(piece.version), piece)
    return piece
  }

  /** Returns how to get the pieces of a text from a range on. `hashes` are those of a checked one. */
  function getFrom(account: string, range: PieceRange, hashes?: string[]): NextPiece {
    return async () => {
      const piece = await getPiece(account, range)
      if (hashes && hashes.shift() !== hashOf(piece)) {
        throw unavailable('The list was changed while it was sent. Retry the request.', 1)
      }
      assert(piece.more || !hashes?.length, 'a checked text ends where it did')
      return { json: piece.json, next: piece.more ? getFrom(account, following(range, piece), hashes) : undefined }
    }
  }

  /** Reads a text until it is known whether it has a name, up to its end or, of one that has none, this end. */
  async function readText(account: string, first: PieceRange, end: number): Promise<ListText> {
    const isPart = first.version === undefined
    const hashes: string[] = []
    for (let range = first; ; ) {
      const piece = await getPiece(account, range)
      assert(!piece.more || piece.last > range.after, 'the next piece begins later')
      const isFirst = range.bytes === 0
      if (isFirst && !piece.more) return { json: piece.json, version: isPart ? hashOf(piece) : piece.version }
      const isOther = !isPart && !isFirst && piece.version !== range.version
      if (isOther || range.bytes + sizeOf(piece) > MAX_LIST_BYTES) {
        return { json: getFrom(account, { ...first, until: end }), version: undefined }
      }
      hashes.push(hashOf(piece))
      const version = isPart ? undefined : piece.version
      if (!piece.more) {
        const checked = { ...first, version, until: Math.max(range.after, piece.last) }
        return { json: getFrom(account, checked, hashes), version: version ?? hashText(hashes.join()) }
      }
      range = { ...following(range, piece), version }
    }
  }

  /** Reads a part of a list, whose end has to be known before its text. */
  async function readPart(account: string, { limit, after = 0, ...bounds }: Selection): Promise<PlantList> {
    const rest = async () => ({ ...(await readState(account)), json: undefined, more: false })
    const part = await (limit === undefined ? rest() : tryPage(account, { ...bounds, after, limit }))
    const { more } = part
    const end = Math.max(after, part.last)
    if (part.json) {
      const json = wrapPlants('[', part.json, ']')
      return { json, version: hashText(json), end, more }
    }
    const range = { ...FIRST_RANGE, ...bounds, after, until: end }
    const first = limit === undefined ? range : { ...range, limit: shrink(limit) }
    return { ...(await readText(account, first, end)), end, more }
  }

  return async (account, selection = {}, known = []) => {
    if (Object.values(selection).some((bound) => bound !== undefined)) return readPart(account, selection)
    const state = await readState(account)
    const { last: end } = state
    const version = end === 0 ? EMPTY_VERSION : state.version
    const isKnown = version !== undefined && known.includes(version)
    if (end === 0 || isKnown) return { json: EMPTY, version, end, more: false }
    return { ...(await readText(account, { ...FIRST_RANGE, version }, end)), end, more: false }
  }
}

/** Returns what a piece takes in memory, in bytes. */
function sizeOf({ json }: Piece): number {
  return PIECE_BYTES + json.length
}

/** Turns plants into a piece of the text of their list. */
function toPiece({ json, last, more, version }: ListPiece & { json: Buffer }, { bytes, limit }: PieceRange): Piece {
  const comma = json.length === 0 ? '' : ','
  const text = wrapPlants(bytes === 0 ? '[' : comma, json, more ? '' : ']')
  const mayDouble = 2 * text.length <= MAX_PIECE_BYTES && limit < MAX_PIECE_PLANTS
  return { json: text, last, more, nextLimit: mayDouble ? 2 * limit : limit, version }
}

/** Returns the range after a piece of another one. */
function following(range: PieceRange, piece: Piece): PieceRange {
  return { ...range, after: piece.last, limit: piece.nextLimit, bytes: range.bytes + sizeOf(piece) }
}

function hashText(text: Buffer | string): string {
  return hash('sha256', text, 'base64url')
}

/** Returns the hash of a piece, which is computed once. */
function hashOf(piece: Piece): string {
  piece.hash ??= hashText(piece.json)
  return piece.hash
}

/** Returns how many plants to try where as many are too long. */
function shrink(limit: number): number {
  return Math.ceil(limit / 8)
}

/**
 * Puts brackets or a comma around the JSON of plants. Not with `Buffer.concat`, whose short results keep a block of memory
 * that they share.
 */
function wrapPlants(before: string, json: Buffer, after: string): Buffer {
  const end = before.length + json.length
  const text = Buffer.allocUnsafeSlow(end + after.length)
  text.write(before)
  json.copy(text, before.length)
  text.write(after, end)
  return text
}

import assert from 'node:assert/strict'
import { isUtf8 } from 'node:buffer'
import type { OpenedDatabase, Statements } from './engine.ts'

/** The plants of all accounts. */
export interface Plants {
  /**
   * Stores the plants whose account does not have their id yet, in order, all in one transaction, durably. Returns what
   * became of each.
   */
  create(plants: readonly PlantRow[]): Promise<Outcome[]>
  /** Reads, for each account, how its list is now: for all of them in one short statement. */
  states(accounts: readonly string[]): Promise<ListState[]>
  /** Reads a piece of an account's list, in order of creation, with one short statement. */
  read(account: string, range: ListRange): Promise<ListPiece>
}

/**
 * What operations do with plants besides reading and inserting them: on PostgreSQL, the role of a server needs the right
 * to, which docs/production/several-machines/rights.sql grants.
 */
export const plantRights: readonly ('UPDATE' | 'DELETE')[] = []

/**
 * What became of a plant that was to be created: it is stored, now or since before, with the same content; its id is
 * taken by one with other content; or somebody has deleted it each time before that could be seen.
 */
export type Outcome = 'stored' | 'taken' | 'deleted'

/** A list as it is at one moment. */
export interface ListState {
  /**
   * Another text after each insert, change and deletion of a plant of the account, by anyone: it names what the same
   * statement has read. Undefined: it is not known.
   */
  readonly version: string | undefined
  /** The `seq` of the last plant; 0 if there is none. */
  readonly last: number
}

/** A plant as it is stored. */
export interface PlantRow {
  readonly account: string
  /** An int64 as canonical decimal text. */
  readonly id: string
  readonly name: string
  readonly tag: string | null
}

/** Which plants of an account to read. */
export interface ListRange {
  /** At most this many plants. */
  limit: number
  /** Only plants created after the one with this `seq`. Default: from the first. */
  after?: number | undefined
  /** Only plants up to the one with this `seq`. Default: to the last. */
  until?: number | undefined
}

/** A piece of the text of a list, as it is at one moment. */
export interface ListPiece {
  /**
   * The plants as JSON objects separated by commas, in UTF-8; undefined: one of them may have more than its share of
   * 64 kB, and none was read.
   */
  readonly json: Buffer | undefined
  /** The `seq` of the last of them; 0 if there is none. */
  readonly last: number
  /** Whether plants follow that one in the range. */
  readonly more: boolean
  /** The version of the whole list, as {@link ListState} has it. */
  readonly version: string | undefined
}

/**
 * A piece of a list that has more than one plant has at most this many bytes, as JSON text with brackets and commas.
 */
export const MAX_PIECE_BYTES = 2 ** 16
/** How often plants are inserted that were deleted meanwhile. */
const MAX_INSERTS = 3
/** No limit, of a `seq` or a size. */
const NO_LIMIT = Number.MAX_SAFE_INTEGER

/** The engines have different types for these. */
type Integer = bigint | number | string
type Flag = boolean | bigint | number
type StateRow = [version: string | null, last: Integer]
type PieceRow = [json: Uint8Array | string | null, last: Integer, more: Flag, version: string | null]
type ComparedRow = [isSame: Flag | null]
const NOTHING: PieceRow = [null, 0, false, null]

/**
 * Creates the plants of a database. Lists and batches call the engine itself: Prisma Client keeps the parameters of its
 * last calls, up to 60 MB of batches, and delays when results are freed (docs/decisions/013-prisma-client.md).
 */
export function createPlants(
  { read, write }: OpenedDatabase,
  { insertPlants, comparePlants, selectStates, selectPiece }: Statements,
): Plants {
  return {
    async create(plants) {
      // Arrays of [account, id, name, tag].
      const json = JSON.stringify(plants.map(({ account, id, name, tag }) => [account, id, name, tag]))
      for (let inserts = 1; ; inserts++) {
        const inserted = await write(insertPlants, [json])
        assert(inserted <= plants.length, 'a plant is inserted once')
        if (inserted === plants.length) return new Array<Outcome>(plants.length).fill('stored')
        // Some ids were stored before, or are in this batch twice.
        const rows = await read<ComparedRow>(comparePlants, [json])
        const outcomes = rows.map(([isSame]) => (isSame === null ? 'deleted' : isSame ? 'stored' : 'taken'))
        if (inserts === MAX_INSERTS || !outcomes.includes('deleted')) return outcomes
      }
    },

    async states(accounts) {
      const rows = await read<StateRow>(selectStates, [JSON.stringify(accounts)])
      return rows.map(([version, last]) => ({ version: version ?? undefined, last: Number(last) }))
    },

    async read(account, { limit, after = 0, until = NO_LIMIT }) {
      // Of a plant's texts and, on average, of its JSON. A plant alone may have any length.
      const maxBytes = limit === 1 ? NO_LIMIT : Math.floor((MAX_PIECE_BYTES - 2) / limit) - 1
      const rows = await read<PieceRow>(selectPiece, [account, after, until, limit, maxBytes])
      const [[json, last, more, version] = NOTHING] = rows
      assert(limit === 1 || (json?.length ?? 0) <= MAX_PIECE_BYTES, 'only a plant alone may have any length')
      // Without a plant, there is no JSON either.
      const text = json ?? (Number(last) === 0 ? '' : undefined)
      return {
        json: text === undefined ? undefined : toUtf8(text),
        last: Number(last),
        more: Boolean(more),
        version: version ?? undefined,
      }
    },
  }
}

/** Returns text in UTF-8, which other programs may have stored as something else in SQLite. */
function toUtf8(text: Uint8Array | string): Buffer {
  if (typeof text === 'string') return Buffer.from(text)
  const bytes = Buffer.from(text.buffer, text.byteOffset, text.byteLength)
  return isUtf8(bytes) ? bytes : Buffer.from(bytes.toString())
}

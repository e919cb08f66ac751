import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Plant, ValidNewPlant } from '@plant-store/contract'
import type { Database, Sql } from '@plant-store/prisma'
import { Failure } from '../failure.ts'
import { retryWhileBusy } from '../storage/retry-while-busy.ts'
import { createGroupCommit } from './group-commit.ts'
import { type BoundReading, createListCache, type ListCache } from './list-cache.ts'
import {
  insertPlants,
  MAXIMUM_PIECE_ROWS,
  type PlantRow,
  selectDataVersion,
  selectEndOfList,
  selectJson,
  selectPageEnd,
  selectStored,
} from './plant-queries.ts'
import { putBack } from './put-back.ts'

/** Which part of a list is asked for. */
export interface ListRange {
  /** At most this many plants; left out: all. */
  limit?: number | undefined
  /** Only plants created after the one with this `seq`. Default: from the first. */
  after?: number | undefined
}

/** A part of an account's list. */
export interface PlantList {
  /**
   * The plants as the text of a JSON array: whole, or in pieces. The first of them has been read, the others are when
   * they are asked for.
   */
  json: Buffer | AsyncIterator<string>
  /** The `seq` of the last plant where more follow. */
  next: number | undefined
}

/** Where the plants of all accounts are kept. */
export interface PlantStore {
  /**
   * Stores a plant, durably. The same id with the same content again stores nothing and is no failure.
   *
   * @throws Failure `idTaken` where the account has the id with other content, `unavailable` where too many wait
   */
  create(account: string, plant: ValidNewPlant): Promise<Plant>
  /**
   * The plants of an account in order of creation.
   *
   * @param bound runs each reading of the database; default: without bounds
   */
  list(account: string, range?: ListRange, bound?: BoundReading): Promise<PlantList>
  /** How many plants wait to be stored. */
  waitingWrites(): number
}

const MEBIBYTE = 2 ** 20
const BATCH = {
  maximumBatchItems: 500,
  maximumBatchBytes: 4 * MEBIBYTE,
  maximumWaitingItems: 10_000,
  maximumWaitingBytes: 64 * MEBIBYTE,
}

const KEPT_LISTS = { maximumListBytes: MEBIBYTE, maximumBytes: 16 * MEBIBYTE }

/** Makes the plant store over a database. */
export function createPlantStore(database: Database): PlantStore {
  const { prisma, sql } = database
  const lists = createListCache({
    ...KEPT_LISTS,
    readVersion: () => selectDataVersion(sql),
    readList: async (account) => readJson(sql, account, 0, (await selectEndOfList(prisma, account)).last),
  })
  const writes = createGroupCommit<PlantRow, boolean>({
    ...BATCH,
    weigh: ({ name, tag }) => 100 + name.length + (tag?.length ?? 0),
    commit: (rows) => lists.write(() => storeAll(database, lists, rows)),
  })

  return {
    async create(account, { id, name, tag }) {
      const stored = await writes.add({ account, id: String(id), name, tag: tag ?? null })
      if (!stored) {
        throw new Failure('idTaken', 'id: is taken by another plant of this account. Choose another id.')
      }
      return tag === undefined ? { name } : { name, tag }
    },

    async list(account, { limit, after = 0 } = {}, bound = (read) => read()) {
      if (limit === undefined && after === 0) return { json: await lists.get(account, bound), next: undefined }
      return bound(async () => {
        const end =
          limit === undefined
            ? await selectEndOfList(prisma, account)
            : await selectPageEnd(prisma, account, after, limit)
        const pieces = readJson(sql, account, after, end.last)
        const { value: first = '' } = await pieces.next()
        const isWhole = first.endsWith(']')
        return { json: isWhole ? Buffer.from(first) : putBack(first, pieces), next: end.more ? end.last : undefined }
      })
    },

    waitingWrites: writes.waiting,
  }
}

/** Stores the rows in one statement, and so one transaction; tells of each whether its account has it now. */
async function storeAll({ prisma, sql }: Database, lists: ListCache, rows: PlantRow[]): Promise<boolean[]> {
  const accounts = new Set(rows.map(({ account }) => account))
  try {
    const inserted = await retryWhileBusy(() => insertPlants(sql, rows))
    if (inserted === rows.length) {
      for (const account of accounts) lists.append(account, toJson(rows, account))
      return rows.map(() => true)
    }
  } catch (error) {
    for (const account of accounts) lists.forget(account)
    throw error
  }
  for (const account of accounts) lists.forget(account)
  // Some ids were there already, from before or from this batch: what counts is whether the content is the same.
  const stored = new Map((await selectStored(prisma, rows)).map((row) => [keyOf(row), row]))
  return rows.map((row) => {
    const other = stored.get(keyOf(row))
    return other?.name === row.name && other.tag === row.tag
  })
}

function toJson(rows: readonly PlantRow[], account: string): string {
  return rows
    .filter((row) => row.account === account)
    .map(({ name, tag }) => JSON.stringify(tag === null ? { name } : { name, tag }))
    .join()
}

function keyOf({ account, id }: PlantRow): string {
  return `${id} ${account}`
}

/**
 * Reads in short statements, one a piece: no long transaction holds back a checkpoint, and no piece is large. Where
 * plants are long, a piece has fewer of them.
 */
async function* readJson(sql: Sql, account: string, after: number, last: number): AsyncGenerator<string> {
  let position = after
  let opening = '['
  for (let rows = MAXIMUM_PIECE_ROWS; position < last; ) {
    const piece = await selectJson(sql, account, position, last, rows)
    if (!piece && rows === 1) break
    rows = piece ? Math.min(rows * 2, MAXIMUM_PIECE_ROWS) : Math.ceil(rows / 8)
    if (!piece) continue
    position = piece.last
    // Other callers get their turn, however fast this one reads.
    if (opening === ',') await nextTurn()
    // A list of one piece is one string, so that it can be answered with its length.
    yield opening + piece.json + (position < last ? '' : ']')
    opening = ','
  }
  if (position < last || opening === '[') yield opening === '[' ? '[]' : ']'
}

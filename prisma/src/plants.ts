import { type Adapter, type Prisma, type SqlValue, type Statements, toQuery } from './engine.ts'

/** The plants of all accounts. */
export interface Plants {
  /** Inserts, in order, the plants whose account does not have their id yet: all or none, durably. Returns how many. */
  insert(plants: readonly PlantRow[]): Promise<number>
  /**
   * Returns for each plant whether its account has its id with the same content; undefined: its account lacks the id.
   */
  compare(plants: readonly PlantRow[]): Promise<(boolean | undefined)[]>
  /** Reads, for each account, how its list is now: for all of them in one short statement. */
  states(accounts: readonly string[]): Promise<ListState[]>
  /** Reads a piece of an account's list, in order of creation, with one short statement. */
  read(account: string, range: ListRange): Promise<ListPiece>
  /** Returns whether no account has a plant. */
  isEmpty(): Promise<boolean>
}

/** A list as it is at one moment. */
export interface ListState {
  /**
   * Another text after each insert, change and deletion of a plant of the account, by anyone: lists of one account with
   * the same version are the same. Undefined: it is not known.
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

/** Which plants of an account to read: of all, or of those that have the text of each filter. */
export interface ListRange extends ListFilter {
  /** At most this many plants. */
  limit: number
  /** Only plants created after the one with this `seq`. Default: from the first. */
  after?: number | undefined
  /** Only plants up to the one with this `seq`. Default: to the last. */
  until?: number | undefined
}

/**
 * The columns that filter a list, such as 'tag': a plant has to have the same text. Each needs an index in both engines
 * (CONTRIBUTING.md). None yet: the code for filters waits for the first.
 */
export const listFilters = [] as const satisfies readonly (keyof PlantRow)[]

/** The text of each filter of a list. Default: any. */
export type ListFilter = { readonly [Column in (typeof listFilters)[number]]?: string | undefined }

/** A piece of the text of a list, as it is at one moment. */
export interface ListPiece {
  /**
   * The plants as JSON objects separated by commas; undefined: one of them may have more than its share of 64 kB, and
   * none was read.
   */
  readonly json: string | undefined
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
const MAX_PIECE_BYTES = 2 ** 16
/** No limit, of a `seq` or a size. */
const NO_LIMIT = Number.MAX_SAFE_INTEGER

/** The engines have different types for these. */
type Integer = bigint | number | string
type Flag = boolean | bigint | number
type StateRow = [version: string | null, last: Integer]
type PieceRow = [json: string | null, last: Integer, more: Flag, version: string | null]
type ComparedRow = [isSame: Flag | null]
const NOTHING: PieceRow = [null, 0, false, null]

/**
 * Creates the plants of a database. Lists and batches call the adapter itself: Prisma Client keeps the parameters of
 * its last calls, up to 60 MB of batches, and delays when results are freed (docs/decisions/013-prisma-client.md).
 */
export function createPlants({ plant: table }: Prisma, adapter: Adapter, statements: Statements): Plants {
  async function select<Row>(sql: string, ...values: SqlValue[]): Promise<Row[]> {
    const { rows } = await adapter.queryRaw(toQuery(sql, ...values))
    return rows as Row[]
  }

  const selectAll = statements.selectPiece([])

  return {
    insert: (plants) => adapter.executeRaw(toQuery(statements.insertPlants, toJson(plants))),

    async compare(plants) {
      const rows = await select<ComparedRow>(statements.comparePlants, toJson(plants))
      return rows.map(([isSame]) => (isSame === null ? undefined : Boolean(isSame)))
    },

    async states(accounts) {
      const rows = await select<StateRow>(statements.selectStates, JSON.stringify(accounts))
      return rows.map(([version, last]) => ({ version: version ?? undefined, last: Number(last) }))
    },

    async read(account, { limit, after = 0, until = NO_LIMIT, ...filter }) {
      // A plant alone may have any length.
      const maxBytes = limit === 1 ? NO_LIMIT : Math.floor((MAX_PIECE_BYTES - 2) / limit) - 1
      const texts: Readonly<Record<string, string | undefined>> = filter
      const columns = (listFilters as readonly string[]).filter((column) => texts[column] !== undefined)
      const sql = columns.length === 0 ? selectAll : statements.selectPiece(columns)
      const values = [account, after, until, limit, maxBytes, ...columns.map((column) => texts[column] ?? '')]
      const [[json, last, more, version] = NOTHING] = await select<PieceRow>(sql, ...values)
      // Without a plant, there is no JSON either.
      const text = json ?? (Number(last) === 0 ? '' : undefined)
      return { json: text, last: Number(last), more: Boolean(more), version: version ?? undefined }
    },

    isEmpty: async () => (await table.findFirst({ select: { id: true } })) === null,
  }
}

/** Writes plants as the statements take them. */
function toJson(plants: readonly PlantRow[]): string {
  return JSON.stringify(plants.map(({ account, id, name, tag }) => [account, id, name, tag]))
}

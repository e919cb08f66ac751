import type { SqlQueryable } from '@prisma/driver-adapter-utils'
import type { PlantRow, Plants } from './database.ts'
import type { Dialect } from './engine.ts'
import { type Prisma, type SqlValue, toQuery } from './prisma-client.ts'

/** A part of a list that has more than one plant has at most this many bytes, as JSON text with brackets and commas. */
const MAX_PART_BYTES = 2 ** 16
/** No limit, of a `seq` or a size. */
const NO_LIMIT = Number.MAX_SAFE_INTEGER

type StoredPlant = [account: string, id: string, name: string, tag: string | null]
/** The engines have different types for these. */
type Integer = bigint | number | string
type Flag = boolean | bigint | number
type StateRow = [version: string | null, last: Integer]
type PartRow = [json: string | null, last: Integer, more: Flag, version: string | null]
type ComparedRow = [isSame: Flag | null]
const NOTHING: PartRow = [null, 0, false, null]

/**
 * Creates the plants of a database. Lists and batches call the adapter itself: Prisma Client keeps the parameters of its last
 * calls, up to 60 MB of batches, and delays when results are freed (docs/decisions/013-prisma-client.md).
 */
export function createPlants({ plant: table }: Prisma, adapter: SqlQueryable, dialect: Dialect): Plants {
  async function select<Row>(sql: string, ...values: SqlValue[]): Promise<Row[]> {
    const { rows } = await adapter.queryRaw(toQuery(sql, ...values))
    return rows as Row[]
  }

  return {
    insert: (plants) => adapter.executeRaw(toQuery(dialect.insertPlants, JSON.stringify(plants.map(toStoredPlant)))),

    async compare(plants) {
      const rows = await select<ComparedRow>(dialect.comparePlants, JSON.stringify(plants.map(toStoredPlant)))
      return rows.map(([isSame]) => (isSame === null ? undefined : Boolean(isSame)))
    },

    async states(accounts) {
      const rows = await select<StateRow>(dialect.selectStates, JSON.stringify(accounts))
      return rows.map(([version, last]) => ({ version: version ?? undefined, last: Number(last) }))
    },

    async read(account, { limit, after = 0, until = NO_LIMIT }) {
      // A plant alone may have any length.
      const maxBytes = limit === 1 ? NO_LIMIT : Math.floor((MAX_PART_BYTES - 2) / limit) - 1
      const values = [account, after, until, limit, maxBytes]
      const [[json, last, more, version] = NOTHING] = await select<PartRow>(dialect.selectPart, ...values)
      // Without a plant, there is no JSON either.
      const text = json ?? (Number(last) === 0 ? '' : undefined)
      return { json: text, last: Number(last), more: Boolean(more), version: version ?? undefined }
    },

    isEmpty: async () => (await table.findFirst({ select: { id: true } })) === null,
  }
}

function toStoredPlant({ account, id, name, tag }: PlantRow): StoredPlant {
  return [account, id, name, tag]
}

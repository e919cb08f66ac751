import type { SqlQueryable } from '@prisma/driver-adapter-utils'
import type { PlantRow, Plants } from './database.ts'
import { type Prisma, toQuery } from './prisma-client.ts'
import type { Dialect } from './statements.ts'

/** A part of a list that has more than one plant has at most this many bytes, as JSON text with brackets and commas. */
const MAX_PART_BYTES = 2 ** 16
/** No limit, of a `seq` or a size. */
const NO_LIMIT = Number.MAX_SAFE_INTEGER

type StoredPlant = [account: string, id: string, name: string, tag: string | null]
/** As Prisma Client reads them, and the adapter: the engines have different types for these. */
type Integer = bigint | number | string
type Flag = boolean | bigint | number
interface PartRow {
  json: string | null
  last: Integer
  more: Flag
  version: string | null
}
interface ComparedRow {
  isSame: Flag | null
}
type StateRow = [version: string | null, last: Integer]

/** Creates the plants of a database. What every list takes calls the adapter, past Prisma Client. */
export function createPlants(prisma: Prisma, adapter: SqlQueryable, dialect: Dialect): Plants {
  return {
    insert: (plants) => prisma.$executeRawUnsafe(dialect.insertPlants, JSON.stringify(plants.map(toStoredPlant))),

    async compare(plants) {
      const json = JSON.stringify(plants.map(toStoredPlant))
      const rows = await prisma.$queryRawUnsafe<ComparedRow[]>(dialect.comparePlants, json)
      return rows.map(({ isSame }) => (isSame === null ? undefined : Boolean(isSame)))
    },

    async states(accounts) {
      const { rows } = await adapter.queryRaw(toQuery(dialect.selectStates, JSON.stringify(accounts)))
      return (rows as StateRow[]).map(([version, last]) => ({ version: version ?? undefined, last: Number(last) }))
    },

    async read(account, { limit, after = 0, until = NO_LIMIT }) {
      // A plant alone may have any length.
      const maxBytes = limit === 1 ? NO_LIMIT : Math.floor((MAX_PART_BYTES - 2) / limit) - 1
      const rows = await prisma.$queryRawUnsafe<PartRow[]>(dialect.selectPart, account, after, until, limit, maxBytes)
      const [{ json, last, more, version } = { json: null, last: 0, more: false, version: null }] = rows
      // Without a plant, there is no JSON either.
      const text = json ?? (Number(last) === 0 ? '' : undefined)
      return { json: text, last: Number(last), more: Boolean(more), version: version ?? undefined }
    },
  }
}

function toStoredPlant({ account, id, name, tag }: PlantRow): StoredPlant {
  return [account, id, name, tag]
}

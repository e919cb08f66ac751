import type { PlantRow, Plants, Retry } from '../database.ts'
import { type ListPiece, readPieces } from '../list-pieces.ts'
import type { Sql } from '../sql.ts'

/** A piece of more than one plant has at most this many bytes of text. */
const MAX_PIECE_BYTES = 2 ** 20

/** Prisma reads only this format as a time in UTC. */
const NOW = `strftime('%Y-%m-%dT%H:%M:%f+00:00', 'now')`
const INSERT = `INSERT INTO "Plant" ("account", "id", "name", "tag", "createdAt")`
const UNLESS_STORED = `ON CONFLICT ("account", "id") DO NOTHING`
const INSERT_ONE = `${INSERT} VALUES (?, ?, ?, ?, ${NOW}) ${UNLESS_STORED}`
// 500 rows as 2,000 parameters take five times as long. SQLite's JSON functions stop at U+0000, which no text contains.
const INSERT_MANY = `${INSERT}
  SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, ${NOW} FROM json_each(?) WHERE true ORDER BY key
  ${UNLESS_STORED}`

const SELECT_STORED = `
  SELECT "account", "id", "name", "tag" FROM "Plant"
  WHERE ("account", "id") IN (SELECT value ->> 0, value ->> 1 FROM json_each(?))`

const SELECT_LAST = 'SELECT max("seq") FROM "Plant" WHERE "account" = ?'
const SELECT_PAGE_END = `
  SELECT max("seq") FILTER (WHERE "position" <= ?), count(*)
  FROM (SELECT "seq", row_number() OVER (ORDER BY "seq") AS "position" FROM "Plant"
        WHERE "account" = ? AND "seq" > ? ORDER BY "seq" LIMIT ?)`

// SQLite writes the JSON text in a third of the time that rows take through Prisma. It is limited plant by plant, since
// adding up the sizes first takes half as long again.
const SELECT_PIECE = `
  SELECT
    iif(max("bytes") <= ?,
      group_concat(iif("tag" IS NULL, json_object('name', "name"), json_object('name', "name", 'tag', "tag")), ',')
        FILTER (WHERE "bytes" <= ?),
      NULL),
    max("seq")
  FROM (
    SELECT "seq", "name", "tag", octet_length("name") + coalesce(octet_length("tag"), 0) AS "bytes" FROM "Plant"
    WHERE "account" = ? AND "seq" > ? AND "seq" <= ? ORDER BY "seq" LIMIT ?)`

/** Creates the plants of a SQLite database. */
export function createPlants(sql: Sql, retry: Retry): Plants {
  return {
    insert: (plants) => retry(() => insert(sql, plants)),

    async find(keys) {
      const rows = await sql.query<[string, string, string, string | null]>(
        SELECT_STORED,
        JSON.stringify(keys.map(({ account, id }) => [account, id])),
      )
      return rows.map(([account, id, name, tag]) => ({ account, id, name, tag }))
    },

    async list(account, { limit, after = 0 } = {}) {
      const { last, more } = await (limit === undefined
        ? selectListEnd(sql, account)
        : selectPageEnd(sql, account, after, limit))
      const readPiece = (from: number, plants: number) => selectPiece(sql, account, from, last, plants)
      return { pieces: readPieces(readPiece, after, last), next: more ? last : undefined }
    },

    async version() {
      const [row] = await sql.query<[number]>('PRAGMA data_version')
      if (!row) throw new Error('SQLite returned no data_version')
      return row[0]
    },
  }
}

function insert(sql: Sql, plants: readonly PlantRow[]): Promise<number> {
  const [plant] = plants
  // A lone client waits for every microsecond.
  if (plant && plants.length === 1) return sql.execute(INSERT_ONE, plant.account, plant.id, plant.name, plant.tag)
  return sql.execute(INSERT_MANY, JSON.stringify(plants.map(({ account, id, name, tag }) => [account, id, name, tag])))
}

/** Where a part of a list ends, and whether plants follow it. */
interface ListEnd {
  last: number
  more: boolean
}

async function selectListEnd(sql: Sql, account: string): Promise<ListEnd> {
  const [row] = await sql.query<[number | null]>(SELECT_LAST, account)
  return { last: row?.[0] ?? 0, more: false }
}

async function selectPageEnd(sql: Sql, account: string, after: number, limit: number): Promise<ListEnd> {
  const [row] = await sql.query<[number | null, number]>(SELECT_PAGE_END, limit, account, after, limit + 1)
  return { last: row?.[0] ?? 0, more: (row?.[1] ?? 0) > limit }
}

async function selectPiece(
  sql: Sql,
  account: string,
  after: number,
  last: number,
  limit: number,
): Promise<ListPiece | undefined> {
  const maxBytes = limit === 1 ? Number.MAX_SAFE_INTEGER : Math.floor(MAX_PIECE_BYTES / limit)
  const [row] = await sql.query<[string | null, number]>(SELECT_PIECE, maxBytes, maxBytes, account, after, last, limit)
  return row?.[0] == null ? undefined : { json: row[0], last: row[1] }
}

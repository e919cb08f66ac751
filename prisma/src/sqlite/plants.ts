import type { KnownList, ListChange, PlantRow, Plants, Retry } from '../database.ts'
import {
  type ListEnd,
  type ListPiece,
  MAX_CHANGED_BYTES,
  MAX_CHANGED_PLANTS,
  maxPlantBytes,
  readPieces,
} from '../shared/list-pieces.ts'
import type { Sql } from '../shared/sql.ts'

/** Prisma reads only this format as a time in UTC. */
const NOW = `strftime('%Y-%m-%dT%H:%M:%f+00:00', 'now')`
const INSERT = `INSERT INTO "Plant" ("account", "id", "name", "tag", "createdAt")`
const UNLESS_STORED = `ON CONFLICT ("account", "id") DO NOTHING`
const INSERT_ONE = `${INSERT} VALUES (?, ?, ?, ?, ${NOW}) ${UNLESS_STORED}`
// 500 rows as 2,000 parameters take five times as long. SQLite's JSON functions stop at U+0000, which no text contains.
const INSERT_MANY = `${INSERT}
  SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, ${NOW} FROM json_each(?) WHERE true ORDER BY key ${UNLESS_STORED}`

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
const TOO_LONG = 'max("bytes") > ?'
const JSON_TEXT = `
  group_concat(iif("tag" IS NULL, json_object('name', "name"), json_object('name', "name", 'tag', "tag")), ',')
    FILTER (WHERE "bytes" <= ?)`
const PLANTS_AFTER = `
  SELECT "seq", "name", "tag", octet_length("name") + coalesce(octet_length("tag"), 0) AS "bytes" FROM "Plant"
  WHERE "account" = ? AND "seq" > ?`

const SELECT_PIECE = `
  SELECT iif(${TOO_LONG}, NULL, ${JSON_TEXT}), max("seq")
  FROM (${PLANTS_AFTER} AND "seq" <= ? ORDER BY "seq" LIMIT ?)`

const SELECT_CHANGE = `
  SELECT
    coalesce((SELECT "count" FROM "Edits" WHERE "account" = ?), 0),
    coalesce((SELECT max("seq") FROM "Plant" WHERE "account" = ?), 0),
    iif(count(*) > ${MAX_CHANGED_PLANTS} OR ${TOO_LONG}, NULL, coalesce(${JSON_TEXT}, ''))
  FROM (${PLANTS_AFTER} ORDER BY "seq" LIMIT ${MAX_CHANGED_PLANTS + 1})`

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
      return { pieces: readPieces(readPiece, after, last), last, more }
    },

    changes: (lists) => Promise.all(lists.map((list) => selectChange(sql, list))),
  }
}

function insert(sql: Sql, plants: readonly PlantRow[]): Promise<number> {
  const [plant] = plants
  // A lone client waits for every microsecond.
  if (plant && plants.length === 1) {
    const { account, id, name, tag } = plant
    return sql.execute(INSERT_ONE, account, id, name, tag)
  }
  return sql.execute(INSERT_MANY, JSON.stringify(plants.map(({ account, id, name, tag }) => [account, id, name, tag])))
}

async function selectListEnd(sql: Sql, account: string): Promise<ListEnd> {
  const [row] = await sql.query<[number | null]>(SELECT_LAST, account)
  return { last: row?.[0] ?? 0, more: false }
}

async function selectPageEnd(sql: Sql, account: string, after: number, limit: number): Promise<ListEnd> {
  const [row] = await sql.query<[number | null, number]>(SELECT_PAGE_END, limit, account, after, limit + 1)
  return { last: row?.[0] ?? 0, more: (row?.[1] ?? 0) > limit }
}

async function selectChange(sql: Sql, { account, last }: KnownList): Promise<ListChange> {
  const parameters = [account, account, MAX_CHANGED_BYTES, MAX_CHANGED_BYTES, account, last]
  const [row] = await sql.query<[number, number, string | null]>(SELECT_CHANGE, ...parameters)
  if (!row) throw new Error('An aggregate has one row')
  return { edits: row[0], last: row[1], json: row[2] ?? undefined }
}

async function selectPiece(
  sql: Sql,
  account: string,
  after: number,
  last: number,
  limit: number,
): Promise<ListPiece | undefined> {
  const maxBytes = maxPlantBytes(limit)
  const [row] = await sql.query<[string | null, number]>(SELECT_PIECE, maxBytes, maxBytes, account, after, last, limit)
  return row?.[0] == null ? undefined : { json: row[0], last: row[1] }
}

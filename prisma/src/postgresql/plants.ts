import type { KnownList, ListChange, PlantRow, Plants, Retry } from '../database.ts'
import {
  type ListEnd,
  type ListPiece,
  MAX_CHANGED_BYTES,
  MAX_CHANGED_PLANTS,
  maxPlantBytes,
  readPieces,
} from '../shared/list-pieces.ts'
import type { Sql, SqlValue } from '../shared/sql.ts'
import { standbyError } from './connection/promises.ts'

/** So many lists are read by one statement: more would cost enough for PostgreSQL to compile it. */
const MAX_LISTS = 32

const INSERT = `INSERT INTO "Plant" ("account", "id", "name", "tag")`
const UNLESS_STORED = `ON CONFLICT ("account", "id") DO NOTHING`
const INSERT_ONE = `${INSERT} VALUES ($1, $2, $3, $4) ${UNLESS_STORED}`
// As `json`, each plant would be parsed again for each of its columns.
const INSERT_MANY = `${INSERT}
  SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3
  FROM jsonb_array_elements($1::jsonb) WITH ORDINALITY AS plants(value, position) ORDER BY position
  ${UNLESS_STORED}`

const SELECT_STORED = `
  SELECT "account", "id", "name", "tag" FROM "Plant"
  WHERE ("account", "id") IN (SELECT value ->> 0, value ->> 1 FROM json_array_elements($1::json) AS keys(value))`

/**
 * The plants of an account after a `seq`, in order. It compares rows, and orders by the account too, since only the index
 * on both does that: with `"account" = ...`, PostgreSQL may take the primary key and read the plants of all others.
 */
const plantsAfter = (account: string, seq: string) => `
  FROM "Plant" WHERE ("account", "seq") > (${account}, ${seq}) AND "account" <= ${account}
  ORDER BY "account", "seq"`
/** The `seq` of an account's last plant. */
const lastOf = (account: string) => `
  SELECT "seq" FROM "Plant" WHERE "account" >= ${account} AND "account" <= ${account}
  ORDER BY "account" DESC, "seq" DESC LIMIT 1`

/** A pooler may lead a connection to a standby at any time, whose plants are older than what was acknowledged. */
const IS_STANDBY = 'pg_is_in_recovery()'

const SELECT_LAST = `SELECT ${IS_STANDBY}, (${lastOf('$1')})`
const SELECT_PAGE_END = `
  SELECT ${IS_STANDBY}, max("seq") FILTER (WHERE "position" <= $3), count(*)
  FROM (SELECT "seq", row_number() OVER (ORDER BY "seq") AS "position"
        FROM (SELECT "seq" ${plantsAfter('$1', '$2')} LIMIT $3 + 1) AS "page") AS "numbered"`

/** The same text as `JSON.stringify`, byte for byte. `json_build_object` writes spaces. */
const PLANT_AS_JSON = `
  '{"name":' || to_json("name")::text || coalesce(',"tag":' || to_json("tag")::text, '') || '}'`
const COLUMNS = `"seq", "name", "tag", octet_length("name") + coalesce(octet_length("tag"), 0) AS "bytes"`

const SELECT_PIECE = `
  SELECT
    CASE WHEN max("bytes") <= $5::bigint THEN
      string_agg(${PLANT_AS_JSON}, ',' ORDER BY "seq") FILTER (WHERE "bytes" <= $5::bigint)
    END,
    max("seq")
  FROM (SELECT ${COLUMNS} ${plantsAfter('$1', '$2')} LIMIT $4) AS "piece"
  WHERE "seq" <= $3`

// The row of the empty account counts what has changed in all of them.
const SELECT_CHANGES = `
  SELECT
    ${IS_STANDBY},
    coalesce((SELECT sum("count") FROM "Edits" WHERE "account" IN ("known"."name", '')), 0)::bigint,
    coalesce((${lastOf('"known"."name"')}), 0),
    "new"."json"
  FROM (SELECT value ->> 0 AS "name", (value ->> 1)::bigint AS "last", position
        FROM json_array_elements($1::json) WITH ORDINALITY AS lists(value, position)
        LIMIT ${MAX_LISTS}) AS "known"
  CROSS JOIN LATERAL (
    SELECT CASE
      WHEN count(*) = 0 THEN ''
      WHEN count(*) <= ${MAX_CHANGED_PLANTS} AND max("bytes") <= ${MAX_CHANGED_BYTES} THEN
        string_agg(${PLANT_AS_JSON}, ',' ORDER BY "seq") FILTER (WHERE "bytes" <= ${MAX_CHANGED_BYTES})
      END AS "json"
    FROM (SELECT ${COLUMNS} ${plantsAfter('"known"."name"', '"known"."last"')}
          LIMIT ${MAX_CHANGED_PLANTS + 1}) AS "piece") AS "new"
  ORDER BY position`

/** Creates the plants of a PostgreSQL database. Every statement may run twice, see `Plants.insert`. */
export function createPlants(sql: Sql, retry: Retry): Plants {
  return {
    insert: (plants) => retry(() => insert(sql, plants)),

    async find(keys) {
      const json = JSON.stringify(keys.map(({ account, id }) => [account, id]))
      const rows = await retry(() => sql.query<[string, string, string, string | null]>(SELECT_STORED, json))
      return rows.map(([account, id, name, tag]) => ({ account, id, name, tag }))
    },

    async list(account, { limit, after = 0 } = {}) {
      const { last, more } = await retry(() =>
        limit === undefined ? selectListEnd(sql, account) : selectPageEnd(sql, account, after, limit),
      )
      const readPiece = (from: number, plants: number) => retry(() => selectPiece(sql, account, from, last, plants))
      return { pieces: readPieces(readPiece, after, last), last, more }
    },

    changes: (lists) => retry(() => selectChanges(sql, lists)),
  }
}

function insert(sql: Sql, plants: readonly PlantRow[]): Promise<number> {
  const [plant] = plants
  if (plant && plants.length === 1) return sql.execute(INSERT_ONE, plant.account, plant.id, plant.name, plant.tag)
  return sql.execute(INSERT_MANY, JSON.stringify(plants.map(({ account, id, name, tag }) => [account, id, name, tag])))
}

async function selectListEnd(sql: Sql, account: string): Promise<ListEnd> {
  const [[last] = []] = await queryPrimary<[string | null]>(sql, SELECT_LAST, account)
  return { last: Number(last), more: false }
}

async function selectPageEnd(sql: Sql, account: string, after: number, limit: number): Promise<ListEnd> {
  const [[last, plants] = []] = await queryPrimary<[string | null, string]>(sql, SELECT_PAGE_END, account, after, limit)
  return { last: Number(last), more: Number(plants) > limit }
}

/** Runs a query whose first column says whether the server is a standby, and returns the others. */
async function queryPrimary<Row extends readonly SqlValue[]>(
  sql: Sql,
  statement: string,
  ...values: SqlValue[]
): Promise<Row[]> {
  const rows = await sql.query<[isStandby: boolean, ...Row]>(statement, ...values)
  return rows.map(([isStandby, ...row]) => {
    if (isStandby) throw standbyError()
    return row
  })
}

async function selectPiece(
  sql: Sql,
  account: string,
  after: number,
  last: number,
  limit: number,
): Promise<ListPiece | undefined> {
  const maxBytes = maxPlantBytes(limit)
  const [row] = await sql.query<[string | null, string]>(SELECT_PIECE, account, after, last, limit, maxBytes)
  return row?.[0] == null ? undefined : { json: row[0], last: Number(row[1]) }
}

/** Uses several statements for many lists, so that the result of each is limited. */
async function selectChanges(sql: Sql, lists: readonly KnownList[]): Promise<ListChange[]> {
  const parts: Promise<ListChange[]>[] = []
  for (let first = 0; first < lists.length; first += MAX_LISTS) {
    parts.push(selectSomeChanges(sql, lists.slice(first, first + MAX_LISTS)))
  }
  return (await Promise.all(parts)).flat()
}

async function selectSomeChanges(sql: Sql, lists: readonly KnownList[]): Promise<ListChange[]> {
  const json = JSON.stringify(lists.map(({ account, last }) => [account, last]))
  const rows = await queryPrimary<[string, string, string | null]>(sql, SELECT_CHANGES, json)
  return rows.map(([edits, last, text]) => ({ edits: Number(edits), last: Number(last), json: text ?? undefined }))
}

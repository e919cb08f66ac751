import type { PrismaClient, Sql } from '@plant-store/prisma'

/** A plant as it is stored. */
export interface PlantRow {
  account: string
  /** An int64 in canonical decimal. */
  id: string
  name: string
  tag: string | null
}

/** A piece of a list holds this many rows at most. */
export const MAXIMUM_PIECE_ROWS = 4_096
/** A piece of more than one row holds this many bytes of text at most. */
const MAXIMUM_PIECE_BYTES = 2 ** 20

/**
 * Inserts the rows, in order, that the accounts do not have yet, in one statement: all or none, durable when it
 * returns. Gives how many were inserted. The time is written in the format of Prisma, so that it reads it. Through
 * `json_each`, since 500 rows as 2,000 parameters take five times as long; safe for text, since it holds no U+0000, at
 * which SQLite's JSON functions would stop.
 */
export function insertPlants(sql: Sql, rows: readonly PlantRow[]): Promise<number> {
  const [row] = rows
  // A lone writer is the one who waits for every microsecond.
  if (row && rows.length === 1) return sql.execute(INSERT_ONE, row.account, row.id, row.name, row.tag)
  const values = JSON.stringify(rows.map(({ account, id, name, tag }) => [account, id, name, tag]))
  return sql.execute(INSERT_MANY, values)
}

const NOW = `strftime('%Y-%m-%dT%H:%M:%f+00:00', 'now')`
const INSERT = `INSERT INTO "Plant" ("account", "id", "name", "tag", "createdAt")`
const UNLESS_THERE = `ON CONFLICT ("account", "id") DO NOTHING`
const INSERT_ONE = `${INSERT} VALUES (?, ?, ?, ?, ${NOW}) ${UNLESS_THERE}`
const INSERT_MANY = `${INSERT}
  SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, ${NOW} FROM json_each(?) WHERE true ORDER BY key
  ${UNLESS_THERE}`

/** The stored rows that have the account and id of one of these. */
export function selectStored(prisma: PrismaClient, rows: PlantRow[]): Promise<PlantRow[]> {
  const keys = JSON.stringify(rows.map(({ account, id }) => [account, id]))
  return prisma.$queryRaw<PlantRow[]>`
    SELECT "account", "id", "name", "tag" FROM "Plant"
    WHERE ("account", "id") IN (SELECT value ->> 0, value ->> 1 FROM json_each(${keys}))`
}

/** SQLite's `data_version`: it changes when another connection, of whatever process, has committed. */
export async function selectDataVersion(sql: Sql): Promise<number> {
  const [row] = await sql.query<[number]>('PRAGMA data_version')
  if (!row) throw new Error('SQLite tells no data_version')
  return row[0]
}

/** Where a part of a list ends. */
export interface ListEnd {
  /** The `seq` of the last plant of the part, 0 where it has none. */
  last: number
  /** Plants follow after it. */
  more: boolean
}

/** The end of an account's whole list, as it is now. */
export async function selectEndOfList(prisma: PrismaClient, account: string): Promise<ListEnd> {
  const [row] = await prisma.$queryRaw<{ last: bigint | null }[]>`
    SELECT max("seq") AS "last" FROM "Plant" WHERE "account" = ${account}`
  return { last: Number(row?.last ?? 0), more: false }
}

/** The end of the page of at most `limit` plants after `after`. */
export async function selectPageEnd(
  prisma: PrismaClient,
  account: string,
  after: number,
  limit: number,
): Promise<ListEnd> {
  const [row] = await prisma.$queryRaw<{ last: bigint | null; count: bigint; beyond: bigint }[]>`
    SELECT max("seq") FILTER (WHERE "position" <= ${limit}) AS "last", count(*) AS "count"
    FROM (SELECT "seq", row_number() OVER (ORDER BY "seq") AS "position" FROM "Plant"
          WHERE "account" = ${account} AND "seq" > ${after} ORDER BY "seq" LIMIT ${limit + 1})`
  return { last: Number(row?.last ?? 0), more: Number(row?.count ?? 0) > limit }
}

/** A piece of a list: JSON objects with commas between them. */
export interface JsonPiece {
  json: string
  /** The `seq` of its last plant. */
  last: number
}

/**
 * The first `rows` plants of an account with `after` < `seq` <= `last`, or nothing where there are none, or where one
 * of several is too long for a piece of as many: then fewer have to be asked for. SQLite makes the text, in a third of
 * the time that rows would take on their way through Prisma, and bounds it plant by plant, since adding up the sizes
 * first would take half as long again.
 */
export async function selectJson(
  sql: Sql,
  account: string,
  after: number,
  last: number,
  rows: number,
): Promise<JsonPiece | undefined> {
  const longest = rows === 1 ? Number.MAX_SAFE_INTEGER : Math.floor(MAXIMUM_PIECE_BYTES / rows)
  const [row] = await sql.query<[string | null, number]>(SELECT_JSON, longest, longest, account, after, last, rows)
  return row?.[0] == null ? undefined : { json: row[0], last: row[1] }
}

const SELECT_JSON = `
  SELECT
    iif(max("bytes") <= ?,
      group_concat(iif("tag" IS NULL, json_object('name', "name"), json_object('name', "name", 'tag', "tag")), ',')
        FILTER (WHERE "bytes" <= ?),
      NULL),
    max("seq")
  FROM (
    SELECT "seq", "name", "tag", octet_length("name") + coalesce(octet_length("tag"), 0) AS "bytes" FROM "Plant"
    WHERE "account" = ? AND "seq" > ? AND "seq" <= ? ORDER BY "seq" LIMIT ?)`

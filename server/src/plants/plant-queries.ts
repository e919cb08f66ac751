import type { PrismaClient } from '@plant-store/prisma'

/** A plant as it is stored. */
export interface PlantRow {
  account: string
  /** An int64 in canonical decimal. */
  id: string
  name: string
  tag: string | null
}

/** A piece of a list holds this many rows at most. */
export const MAXIMUM_PIECE_ROWS = 8_000
/** A piece of more than one row holds this many bytes of text at most. */
const MAXIMUM_PIECE_BYTES = 512 * 1024

/**
 * Inserts the rows, in order, that the accounts do not have yet, in one statement: all or none, durable when it
 * returns. Gives how many were inserted. The time is written in the format of Prisma, so that it reads it. Through `json_each`, since 500 rows as 2,000 parameters take five times as
 * long; safe for text, since it holds no U+0000, at which SQLite's JSON functions would stop.
 */
export function insertPlants(prisma: PrismaClient, rows: PlantRow[]): Promise<number> {
  const values = JSON.stringify(rows.map(({ account, id, name, tag }) => [account, id, name, tag]))
  return prisma.$executeRaw`
    INSERT INTO "Plant" ("account", "id", "name", "tag", "createdAt")
    SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, strftime('%Y-%m-%dT%H:%M:%f+00:00', 'now') FROM json_each(${values}) WHERE true ORDER BY key
    ON CONFLICT ("account", "id") DO NOTHING`
}

/** The stored rows that have the account and id of one of these. */
export function selectStored(prisma: PrismaClient, rows: PlantRow[]): Promise<PlantRow[]> {
  const keys = JSON.stringify(rows.map(({ account, id }) => [account, id]))
  return prisma.$queryRaw<PlantRow[]>`
    SELECT "account", "id", "name", "tag" FROM "Plant"
    WHERE ("account", "id") IN (SELECT value ->> 0, value ->> 1 FROM json_each(${keys}))`
}

/** SQLite's `data_version`: it changes when another connection, of whatever process, has committed. */
export async function selectDataVersion(prisma: PrismaClient): Promise<number> {
  const [row] = await prisma.$queryRaw<{ data_version: bigint | number }[]>`PRAGMA data_version`
  return Number(row?.data_version)
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
 * The first `rows` plants of an account with `after` < `seq` <= `last`, or nothing where there are none, or where more
 * than one would be too much text: then fewer have to be asked for. SQLite makes the text, in a third of the time that
 * rows would take on their way through Prisma. It looks at the sizes first, which reads no text.
 */
export async function selectJson(
  prisma: PrismaClient,
  account: string,
  after: number,
  last: number,
  rows: number,
): Promise<JsonPiece | undefined> {
  const [row] = await prisma.$queryRaw<{ json: string | null; last: bigint | null }[]>`
    SELECT max("seq") AS "last",
      group_concat(iif("tag" IS NULL, json_object('name', "name"), json_object('name', "name", 'tag', "tag")), ',') AS "json"
    FROM (
      SELECT "seq", "name", "tag" FROM "Plant"
      WHERE "account" = ${account} AND "seq" > ${after} AND "seq" <= ${last}
        AND (${rows} = 1 OR ${MAXIMUM_PIECE_BYTES} >= (
          SELECT sum("bytes") FROM (
            SELECT octet_length("name") + coalesce(octet_length("tag"), 0) AS "bytes" FROM "Plant"
            WHERE "account" = ${account} AND "seq" > ${after} AND "seq" <= ${last} ORDER BY "seq" LIMIT ${rows})))
      ORDER BY "seq" LIMIT ${rows})`
  return row?.json == null ? undefined : { json: row.json, last: Number(row.last) }
}

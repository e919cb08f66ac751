import type { ReadStatement, Statements } from '../engine.ts'

/** Prisma reads only this format as a time in UTC. */
const TIME_FORMAT = '%Y-%m-%dT%H:%M:%f+00:00'

/**
 * A time in milliseconds since 1970. Prisma writes text with a time zone; by hand, a time may also be a number or
 * `CURRENT_TIMESTAMP`.
 */
const readTime = (column: string) => `
  iif(${column} IS NULL, NULL, coalesce(iif(typeof(${column}) = 'integer', ${column},
    CAST(round(unixepoch(${column}, 'subsec') * 1000) AS INTEGER)), 0))`

/**
 * The plants of an account in a range. The `+` before a parameter keeps SQLite from preparing the statement again for
 * each value, which takes ten times as long as the rest of it.
 */
const plantsAfter = (seq: string) => `FROM "Plant" WHERE "account" = +$1 AND "seq" > ${seq} AND "seq" <= $3`

/**
 * A plant as JSON text, which SQLite writes in a third of the time that rows take through Prisma; NULL if its text has
 * more than `$5` bytes. A longer text is not read, which would take 7 ms for 31 plants of 1 MB.
 */
const AS_JSON = `
  iif(octet_length("name") + coalesce(octet_length("tag"), 0) <= $5,
      '{"name":' || json_quote("name") || iif("tag" IS NULL, '', ',"tag":' || json_quote("tag")) || '}', NULL)`

/**
 * The selected plants as JSON, in the order of the subquery, which SQLite keeps for a `group_concat` around it: an
 * order of its own would take as long as the rest. NULL if one of them is not JSON, or all of them take more bytes than
 * `$4` may have.
 */
const JOINED_JSON = `
  iif(count("json") = count(*) AND sum(octet_length("json")) <= $4 * $5, group_concat("json", ','), NULL)`

/** A value of the stored plant that has an account and id of the JSON array `value`; NULL if there is none. */
const ofStored = (value: string) =>
  `(SELECT ${value} FROM "Plant" WHERE "account" = value ->> 0 AND "id" = value ->> 1)`
/** Whether a column has a text: `iif` reads it only if it has the same length, which is stored next to it. */
const hasText = (column: string, text: string) =>
  `iif(octet_length(${column}) IS octet_length(${text}), ${column} IS ${text}, 0)`

/** The version of the list of an account; NULL if it has none. */
const versionOf = (account: string) => `(SELECT "version" FROM "ListVersion" WHERE "account" = ${account})`

/**
 * A statement that selects a piece of a list, such as `selectPiece`, as bytes: as text, it would be copied three times.
 *
 * @param plants returns FROM and WHERE of the plants after a `seq`
 */
export const selectPieceOf = (plants: (seq: string) => string): ReadStatement => ({
  kind: 'read',
  sql: `
    SELECT CAST("json" AS BLOB), coalesce("last", 0), EXISTS (SELECT 1 ${plants('"last"')}), ${versionOf('$1')}
    FROM (SELECT ${JOINED_JSON} AS "json", max("seq") AS "last"
          FROM (SELECT "seq", ${AS_JSON} AS "json" ${plants('$2')} ORDER BY "seq" LIMIT $4))`,
})

export const statements: Statements = {
  // 500 rows as 2,000 parameters take five times as long. SQLite's JSON functions stop at U+0000, which no text
  // contains.
  insertPlants: {
    kind: 'write',
    mayRunTwice: true,
    sql: `
      INSERT INTO "Plant" ("account", "id", "name", "tag", "createdAt")
      SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, strftime('${TIME_FORMAT}', 'now') FROM json_each($1)
      WHERE true ORDER BY key ON CONFLICT ("account", "id") DO NOTHING`,
  },

  comparePlants: {
    kind: 'read',
    sql: `
      SELECT ${ofStored(`iif(${hasText('"name"', 'value ->> 2')}, ${hasText('"tag"', 'value ->> 3')}, 0)`)}
      FROM json_each($1) ORDER BY key`,
  },

  selectPiece: selectPieceOf(plantsAfter),

  selectStates: {
    kind: 'read',
    sql: `
      SELECT ${versionOf('value')}, coalesce((SELECT max("seq") FROM "Plant" WHERE "account" = value), 0)
      FROM json_each($1) ORDER BY key`,
  },

  selectTokens: {
    kind: 'read',
    sql: `
      SELECT "Token"."id", "account", "scopes", ${readTime('"expiresAt"')}, ${readTime('"revokedAt"')}
      FROM json_each($1) LEFT JOIN "Token" ON "hash" = value ORDER BY key`,
  },
}

import { type Dialect, MAX_NEWS_BYTES, MAX_NEWS_PLANTS, writeStatements } from '../statements.ts'

/** Prisma reads only this format as a time in UTC. */
const TIME_FORMAT = '%Y-%m-%dT%H:%M:%f+00:00'

/** Prisma writes text with a time zone. By hand, a time may also be a number or `CURRENT_TIMESTAMP`. */
const readTime = (column: string) =>
  `iif(typeof(${column}) = 'integer', ${column}, CAST(round(unixepoch(${column}, 'subsec') * 1000) AS INTEGER))`
const CREATED_AT = readTime('"createdAt"')

/**
 * The plants of a part of a list. With the parameter alone, SQLite would prepare the statement again for each value, which
 * takes ten times as long as the rest of it.
 */
const partAfter = (seq: string) => `FROM "Plant" WHERE "account" = +$1 AND "seq" > ${seq} AND "seq" <= $3`

/**
 * A plant as JSON text, which SQLite writes in a third of the time that rows take through Prisma; NULL if its text is longer.
 * A longer text is not read, which would take 7 ms for 31 plants of 1 MB.
 */
const asJson = (maxBytes: string | number) => `
  iif(octet_length("name") + coalesce(octet_length("tag"), 0) <= ${maxBytes},
      '{"name":' || json_quote("name") || iif("tag" IS NULL, '', ',"tag":' || json_quote("tag")) || '}', NULL)`

/** The selected plants as JSON, in order; NULL if one is not, or all of them take more than a number of bytes. */
const joinJson = (maxBytes: string | number) => `
  iif(count("json") = count(*) AND sum(octet_length("json")) <= ${maxBytes}, group_concat("json", ',' ORDER BY "seq"), NULL)`

/** A value of the stored plant that has an account and id of the JSON array `value`; NULL if there is none. */
const ofStored = (value: string) =>
  `(SELECT ${value} FROM "Plant" WHERE "account" = value ->> 0 AND "id" = value ->> 1)`
/** Whether a text is another one: `iif` reads it only if it has the same length, which is stored next to it. */
const hasText = (column: string, text: string) =>
  `iif(octet_length(${column}) IS octet_length(${text}), ${column} IS ${text}, 0)`

/** A value of the last plant of the account of the JSON array `value`. */
const ofLast = (value: string) => `
  (SELECT ${value} FROM "Plant" WHERE "account" = value ->> 0 ORDER BY "seq" DESC LIMIT 1)`

export const dialect: Dialect = {
  ...writeStatements({
    // The settings of the connection are.
    durably: 'true',
    // SQLite's JSON functions stop at U+0000, which no text contains.
    elements: 'json_each($1)',
    now: `strftime('${TIME_FORMAT}', 'now')`,
    texts: 'SELECT value FROM json_each($1)',
    readTime,
  }),

  comparePlants: `
    SELECT ${ofStored(`iif(${hasText('"name"', 'value ->> 2')}, ${hasText('"tag"', 'value ->> 3')}, 0)`)} AS "isSame"
    FROM json_each($1) ORDER BY key`,

  selectPiece: `
    SELECT "json", coalesce("last", 0) AS "last", EXISTS (SELECT 1 ${partAfter('"last"')}) AS "more"
    FROM (SELECT ${joinJson('$4 * $5')} AS "json", max("seq") AS "last"
          FROM (SELECT "seq", ${asJson('$5')} AS "json" ${partAfter('$2')} ORDER BY "seq" LIMIT $4))`,

  selectStates: `
    SELECT coalesce((SELECT "count" FROM "Edits" WHERE "account" = value ->> 0), 0),
      coalesce(${ofLast('"seq"')}, 0), ${ofLast(CREATED_AT)},
      EXISTS (SELECT 1 FROM "Plant" WHERE "account" = value ->> 0 AND "seq" = value ->> 1 AND ${CREATED_AT} = value ->> 2),
      (SELECT iif(count(*) = 0, '', iif(count(*) <= ${MAX_NEWS_PLANTS}, ${joinJson(MAX_NEWS_BYTES)}, NULL))
       FROM (SELECT "seq", ${asJson(MAX_NEWS_BYTES / MAX_NEWS_PLANTS)} AS "json"
             FROM "Plant" WHERE "account" = value ->> 0 AND "seq" > value ->> 1
             ORDER BY "seq" LIMIT ${MAX_NEWS_PLANTS + 1}))
    FROM json_each($1) ORDER BY key`,
}

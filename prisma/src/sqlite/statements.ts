import { MAX_CHANGED_BYTES, MAX_CHANGED_PLANTS, type PlantStatements } from '../shared/plants.ts'
import type { Dialect } from '../shared/sql.ts'

/** Prisma reads only this format as a time in UTC. */
export const TIME_FORMAT = '%Y-%m-%dT%H:%M:%f+00:00'

export const dialect: Dialect = {
  texts: 'SELECT value FROM json_each($1)',
  // Prisma writes text with a time zone. By hand, a time may also be a number or `CURRENT_TIMESTAMP`.
  readTime: (column) =>
    `iif(typeof(${column}) = 'integer', ${column}, CAST(round(unixepoch(${column}, 'subsec') * 1000) AS INTEGER))`,
}

const INSERT = 'INSERT INTO "Plant" ("account", "id", "name", "tag", "createdAt")'
const NOW = `strftime('${TIME_FORMAT}', 'now')`
const UNLESS_STORED = 'ON CONFLICT ("account", "id") DO NOTHING'

/** The plants of an account after a `seq`. */
const plantsAfter = (account: string, seq: string) => `FROM "Plant" WHERE "account" = ${account} AND "seq" > ${seq}`
/**
 * The plants of a part of a list. With the parameter alone, SQLite would prepare the statement again for each value, which
 * takes ten times as long as the rest of it.
 */
const partAfter = (seq: string) => `${plantsAfter('+$1', seq)} AND "seq" <= $3`

/**
 * A plant as JSON text, which SQLite writes in a third of the time that rows take through Prisma; NULL if its text is longer.
 * That text is not read then, which would take 7 ms for 31 plants of 1 MB.
 */
const asJson = (maxBytes: string | number) => `
  iif(octet_length("name") + coalesce(octet_length("tag"), 0) <= ${maxBytes},
      '{"name":' || json_quote("name") || iif("tag" IS NULL, '', ',"tag":' || json_quote("tag")) || '}', NULL)`
/** Of the selected plants, whether each is as JSON. */
const ALL_AS_JSON = 'count("json") = count(*)'

export const plantStatements: PlantStatements = {
  insertOne: `${INSERT} VALUES ($1, $2, $3, $4, ${NOW}) ${UNLESS_STORED}`,
  // 500 rows as 2,000 parameters take five times as long. SQLite's JSON functions stop at U+0000, which no text contains.
  insertMany: `${INSERT}
    SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, ${NOW} FROM json_each($1)
    WHERE true ORDER BY key ${UNLESS_STORED}`,

  selectStored: `
    SELECT "account", "id", "name", "tag" FROM "Plant"
    WHERE ("account", "id") IN (SELECT value ->> 0, value ->> 1 FROM json_each($1))`,

  selectLast: 'SELECT coalesce(max("seq"), 0) FROM "Plant" WHERE "account" = $1',

  selectPiece: `
    SELECT "json", "last", EXISTS (SELECT 1 ${partAfter('"last"')})
    FROM (SELECT iif(${ALL_AS_JSON}, group_concat("json", ','), NULL) AS "json", coalesce(max("seq"), 0) AS "last"
          FROM (SELECT "seq", ${asJson('$5')} AS "json" ${partAfter('$2')} ORDER BY "seq" LIMIT $4))`,

  selectChanges: `
    SELECT
      coalesce((SELECT "count" FROM "Edits" WHERE "account" = value ->> 0), 0),
      coalesce((SELECT max("seq") FROM "Plant" WHERE "account" = value ->> 0), 0),
      (SELECT CASE
         WHEN count(*) = 0 THEN ''
         WHEN count(*) <= ${MAX_CHANGED_PLANTS} AND ${ALL_AS_JSON} THEN group_concat("json", ',')
       END
       FROM (SELECT ${asJson(MAX_CHANGED_BYTES)} AS "json" ${plantsAfter('value ->> 0', 'value ->> 1')}
             ORDER BY "seq" LIMIT ${MAX_CHANGED_PLANTS + 1}))
    FROM json_each($1) ORDER BY key`,
}

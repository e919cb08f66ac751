import { type Dialect, MAX_NEWS_BYTES, MAX_NEWS_PLANTS, MAX_STATES, writeStatements } from '../statements.ts'
import { DURABLY } from './guarantees.ts'

const readTime = (column: string) => `round(date_part('epoch', ${column}) * 1000)`

/**
 * The plants of an account after a `seq`, in order. It compares rows, and orders by the account too, since only the index
 * on both does that: with `"account" = ...`, PostgreSQL may take the primary key and read the plants of all others.
 */
const plantsAfter = (account: string, seq: string, filter = `"account" <= ${account}`) => `
  FROM "Plant" WHERE ("account", "seq") > (${account}, ${seq}) AND ${filter} ORDER BY "account", "seq"`
/** The plants of a part of a list. */
const partAfter = (seq: string) => plantsAfter('$1', seq, '("account", "seq") <= ($1, $3)')

/** A plant as `JSON.stringify` writes it, byte for byte; NULL if its text is longer. `json_build_object` writes spaces. */
const asJson = (maxBytes: string | number) => `
  CASE WHEN octet_length("name") + coalesce(octet_length("tag"), 0) <= ${maxBytes}
    THEN '{"name":' || to_json("name")::text || coalesce(',"tag":' || to_json("tag")::text, '') || '}' END`
/** The selected plants as JSON, in order; NULL if one is not, or all of them take more than a number of bytes. */
const joinJson = (maxBytes: string | number) => `
  CASE WHEN count("json") = count(*) AND sum(octet_length("json")) <= ${maxBytes}
    THEN string_agg("json", ',' ORDER BY "seq") END`

export const dialect: Dialect = {
  ...writeStatements({
    durably: DURABLY,
    // `jsonb`, since `json` would be parsed again for each column of each element.
    elements: 'jsonb_array_elements($1::jsonb) WITH ORDINALITY AS elements(value, key)',
    now: 'now()',
    texts: 'SELECT value FROM json_array_elements_text($1::json)',
    readTime,
  }),

  comparePlants: `
    SELECT (SELECT "name" = value ->> 2 AND "tag" IS NOT DISTINCT FROM value ->> 3
               FROM "Plant" WHERE "account" = value ->> 0 AND "id" = value ->> 1) AS "isSame"
    FROM jsonb_array_elements($1::jsonb) WITH ORDINALITY AS plants(value, position) ORDER BY position`,

  selectPiece: `
    SELECT "json", coalesce("last", 0) AS "last", (SELECT true ${partAfter('"last"')} LIMIT 1) IS NOT NULL AS "more"
    FROM (SELECT ${joinJson('$4 * $5::bigint')} AS "json", max("seq") AS "last"
          FROM (SELECT "seq", ${asJson('$5::bigint')} AS "json" ${partAfter('$2')} LIMIT $4) AS "plants") AS "piece"`,

  // The row of the empty account counts what has changed in all of them.
  selectStates: `
    SELECT
      coalesce((SELECT sum("count") FROM "Edits" WHERE "account" IN ("known"."name", '')), 0)::bigint,
      coalesce("newest"."seq", 0), ${readTime('"newest"."createdAt"')},
      (SELECT true FROM "Plant" WHERE ("account", "seq") = ("known"."name", "known"."last")
         AND ${readTime('"createdAt"')} = "known"."createdAt") IS NOT NULL,
      "new"."json"
    FROM (SELECT value ->> 0 AS "name", (value ->> 1)::bigint AS "last", (value ->> 2)::float8 AS "createdAt", position
          FROM json_array_elements($1::json) WITH ORDINALITY AS lists(value, position)
          LIMIT ${MAX_STATES}) AS "known"
    LEFT JOIN LATERAL (
      SELECT "seq", "createdAt" FROM "Plant" WHERE "account" >= "known"."name" AND "account" <= "known"."name"
      ORDER BY "account" DESC, "seq" DESC LIMIT 1) AS "newest" ON true
    CROSS JOIN LATERAL (
      SELECT CASE WHEN count(*) = 0 THEN '' WHEN count(*) <= ${MAX_NEWS_PLANTS} THEN ${joinJson(MAX_NEWS_BYTES)} END AS "json"
      FROM (SELECT "seq", ${asJson(MAX_NEWS_BYTES / MAX_NEWS_PLANTS)} AS "json" ${plantsAfter('"known"."name"', '"known"."last"')}
            LIMIT ${MAX_NEWS_PLANTS + 1}) AS "plants") AS "new"
    ORDER BY position`,
}

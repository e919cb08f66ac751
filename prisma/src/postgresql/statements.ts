import type { ReadStatement, Statements } from '../engine.ts'

/**
 * A condition of every read: only the primary has all that was confirmed, and a pooler may lead any statement to a
 * standby. A cast that fails is how plain SQL raises an error with a text of its own.
 */
export const ON_PRIMARY = `(SELECT CASE WHEN pg_is_in_recovery() THEN 'The server is a standby' ELSE 'true' END::boolean)`
/**
 * A condition after which a transaction has what the driver's adapter presumes of its session: it writes times without
 * an offset and removes the one that it reads. A database or a role may bring other settings, and a pooler passes none
 * on.
 */
export const IN_UTC = `
  (SELECT set_config('TimeZone', 'UTC', true) || set_config('DateStyle', 'ISO', true)
    || set_config('extra_float_digits', '1', true)) <> ''`

/** The first setting that loses commits, such as `fsync = off`; otherwise the value of `synchronous_commit`. */
const DURABILITY = `
  CASE 'off'
    WHEN current_setting('fsync') THEN 'fsync = off'
    WHEN current_setting('full_page_writes') THEN 'full_page_writes = off'
    WHEN current_setting('synchronous_commit') THEN 'synchronous_commit = off'
    ELSE current_setting('synchronous_commit')
  END`
/**
 * A condition of every write, on any connection that a pooler gives it: what commits survives a power failure.
 *
 * It fails where commits are lost: the name of a setting that is off is not a value of `synchronous_commit`, so the
 * error has it. Otherwise the value stays until the commit, before which PostgreSQL would apply another one. What a
 * write finds stored already survives too, whoever stored it: the commit of a message waits for all of the log before
 * it.
 */
export const DURABLY = `
  (SELECT set_config('synchronous_commit', ${DURABILITY}, true)) <> ''
  AND (SELECT pg_logical_emit_message(true, 'plant-store', '')) IS NOT NULL`

/**
 * The schema of the tables. Another one may have come to precede it in the search path, such as one with the name of
 * the user, and only statements of SQL find them everywhere. Where there are none yet, a migration creates them in the
 * first.
 */
export const SCHEMA = `
  coalesce((SELECT relnamespace FROM pg_class WHERE oid = to_regclass('"ListVersion"')),
    to_regnamespace(quote_ident(current_schema())))`

/**
 * A time in milliseconds since 1970, as an integer: a session may print fewer digits of other numbers. 0: it is
 * infinite.
 */
const readTime = (column: string) =>
  `CASE isfinite(${column}) WHEN true THEN (extract(epoch FROM ${column}) * 1000)::bigint WHEN false THEN 0 END`

/**
 * The plants of an account in a range, in order. It compares rows, and orders by the account too, since only the index
 * on both does that: with `"account" = ...`, PostgreSQL may take the primary key and read the plants of all others.
 */
const plantsAfter = (seq: string) => `
  FROM "Plant" WHERE ("account", "seq") > ($1, ${seq}) AND ("account", "seq") <= ($1, $3) ORDER BY "account", "seq"`

/**
 * A plant as `JSON.stringify` writes it, byte for byte; NULL if its text has more than `$5` bytes. `json_build_object`
 * writes spaces.
 */
const AS_JSON = `
  CASE WHEN octet_length("name") + coalesce(octet_length("tag"), 0) <= $5::bigint
    THEN '{"name":' || to_json("name")::text || coalesce(',"tag":' || to_json("tag")::text, '') || '}' END`
/** The selected plants as JSON, in order; NULL if one is not, or all of them take more bytes than `$4` may have. */
const JOINED_JSON = `
  CASE WHEN count("json") = count(*) AND sum(octet_length("json")) <= $4 * $5::bigint
    THEN string_agg("json", ',' ORDER BY "seq") END`

/** The version of the list of an account; NULL if it has none. */
const versionOf = (account: string) => `(SELECT "version" FROM "ListVersion" WHERE "account" = ${account})`

/**
 * A statement that selects a piece of a list, such as `selectPiece`.
 *
 * @param plants returns FROM, WHERE and ORDER BY of the plants after a `seq`
 */
export const selectPieceOf = (plants: (seq: string) => string): ReadStatement => ({
  kind: 'read',
  sql: `
    SELECT "json", coalesce("last", 0), (SELECT true ${plants('"last"')} LIMIT 1) IS NOT NULL, ${versionOf('$1')}
    FROM (SELECT ${JOINED_JSON} AS "json", max("seq") AS "last"
          FROM (SELECT "seq", ${AS_JSON} AS "json" ${plants('$2')} LIMIT $4) AS "plants") AS "piece"
    WHERE ${ON_PRIMARY}`,
})

export const statements: Statements = {
  // `jsonb`, since `json` would be parsed again for each column of each element.
  insertPlants: {
    kind: 'write',
    mayRunTwice: true,
    sql: `
      INSERT INTO "Plant" ("account", "id", "name", "tag", "createdAt")
      SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, now()
      FROM jsonb_array_elements($1::jsonb) WITH ORDINALITY AS plants(value, position)
      WHERE ${DURABLY} ORDER BY position ON CONFLICT ("account", "id") DO NOTHING`,
  },

  comparePlants: {
    kind: 'read',
    sql: `
      SELECT (SELECT "name" = value ->> 2 AND "tag" IS NOT DISTINCT FROM value ->> 3
              FROM "Plant" WHERE "account" = value ->> 0 AND "id" = value ->> 1)
      FROM jsonb_array_elements($1::jsonb) WITH ORDINALITY AS plants(value, position)
      WHERE ${ON_PRIMARY} ORDER BY position`,
  },

  selectPiece: selectPieceOf(plantsAfter),

  selectStates: {
    kind: 'read',
    sql: `
      SELECT ${versionOf('value')}, coalesce((
        SELECT "seq" FROM "Plant" WHERE "account" >= value AND "account" <= value
        ORDER BY "account" DESC, "seq" DESC LIMIT 1), 0)
      FROM json_array_elements_text($1::json) WITH ORDINALITY AS accounts(value, position)
      WHERE ${ON_PRIMARY} ORDER BY position`,
  },

  selectTokens: {
    kind: 'read',
    sql: `
      SELECT "id", "account", "scopes", ${readTime('"expiresAt"')}, ${readTime('"revokedAt"')}
      FROM json_array_elements_text($1::json) WITH ORDINALITY AS hashes(value, position)
      LEFT JOIN "Token" ON "hash" = value WHERE ${ON_PRIMARY} ORDER BY position`,
  },
}

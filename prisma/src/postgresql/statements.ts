import { MAX_CHANGED_BYTES, MAX_CHANGED_LISTS, MAX_CHANGED_PLANTS, type PlantStatements } from '../shared/plants.ts'
import type { Dialect, Sql, SqlValue } from '../shared/sql.ts'
import { standbyError } from './connection/promises.ts'

export const dialect: Dialect = {
  texts: 'SELECT value FROM json_array_elements_text($1::json)',
  readTime: (column) => `round(date_part('epoch', ${column}) * 1000)`,
}

const INSERT = 'INSERT INTO "Plant" ("account", "id", "name", "tag")'
const UNLESS_STORED = 'ON CONFLICT ("account", "id") DO NOTHING'

/**
 * The plants of an account after a `seq`, in order. It compares rows, and orders by the account too, since only the index
 * on both does that: with `"account" = ...`, PostgreSQL may take the primary key and read the plants of all others.
 */
const plantsAfter = (account: string, seq: string, filter = `"account" <= ${account}`) => `
  FROM "Plant" WHERE ("account", "seq") > (${account}, ${seq}) AND ${filter} ORDER BY "account", "seq"`
/** The plants of a part of a list. */
const partAfter = (seq: string) => plantsAfter('$1', seq, '("account", "seq") <= ($1, $3)')
/** The `seq` of an account's last plant. */
const lastOf = (account: string) => `
  coalesce((SELECT "seq" FROM "Plant" WHERE "account" >= ${account} AND "account" <= ${account}
            ORDER BY "account" DESC, "seq" DESC LIMIT 1), 0)`

/** The plants that "piece" selects, as `JSON.stringify` writes them, byte for byte. `json_build_object` writes spaces. */
const asJson = (maxBytes: string | number) => `
  string_agg('{"name":' || to_json("name")::text || coalesce(',"tag":' || to_json("tag")::text, '') || '}', ','
             ORDER BY "seq") FILTER (WHERE "bytes" <= ${maxBytes})`
const COLUMNS = `"seq", "name", "tag", octet_length("name") + coalesce(octet_length("tag"), 0) AS "bytes"`

/** Selects on the primary, see {@link onPrimary}. */
const SELECT = 'SELECT pg_is_in_recovery(),'

export const plantStatements: PlantStatements = {
  insertOne: `${INSERT} VALUES ($1, $2, $3, $4) ${UNLESS_STORED}`,
  // As `json`, each plant would be parsed again for each of its columns.
  insertMany: `${INSERT}
    SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3
    FROM jsonb_array_elements($1::jsonb) WITH ORDINALITY AS plants(value, position) ORDER BY position
    ${UNLESS_STORED}`,

  selectStored: `
    ${SELECT} "account", "id", "name", "tag" FROM "Plant"
    WHERE ("account", "id") IN (SELECT value ->> 0, value ->> 1 FROM json_array_elements($1::json) AS keys(value))`,

  selectLast: `${SELECT} ${lastOf('$1')}`,

  selectPiece: `
    ${SELECT} "json", coalesce("last", 0), (SELECT true ${partAfter('"last"')} LIMIT 1) IS NOT NULL
    FROM (SELECT CASE WHEN max("bytes") <= $5::bigint THEN ${asJson('$5::bigint')} END AS "json", max("seq") AS "last"
          FROM (SELECT ${COLUMNS} ${partAfter('$2')} LIMIT $4) AS "plants") AS "piece"`,

  // The row of the empty account counts what has changed in all of them.
  selectChanges: `
    ${SELECT}
      coalesce((SELECT sum("count") FROM "Edits" WHERE "account" IN ("known"."name", '')), 0)::bigint,
      ${lastOf('"known"."name"')},
      "new"."json"
    FROM (SELECT value ->> 0 AS "name", (value ->> 1)::bigint AS "last", position
          FROM json_array_elements($1::json) WITH ORDINALITY AS lists(value, position)
          LIMIT ${MAX_CHANGED_LISTS}) AS "known"
    CROSS JOIN LATERAL (
      SELECT CASE
        WHEN count(*) = 0 THEN ''
        WHEN count(*) <= ${MAX_CHANGED_PLANTS} AND max("bytes") <= ${MAX_CHANGED_BYTES} THEN ${asJson(MAX_CHANGED_BYTES)}
      END AS "json"
      FROM (SELECT ${COLUMNS} ${plantsAfter('"known"."name"', '"known"."last"')}
            LIMIT ${MAX_CHANGED_PLANTS + 1}) AS "piece") AS "new"
    ORDER BY position`,
}

/**
 * Rejects the results of a standby, which may be older than what was acknowledged: a pooler may lead a connection to one at
 * any time. The first column of a query says whether it is one.
 */
export function onPrimary({ execute, query }: Sql): Sql {
  return {
    execute,
    async query<Row extends readonly SqlValue[]>(statement: string, ...values: SqlValue[]) {
      const rows = await query<[isStandby: boolean, ...Row]>(statement, ...values)
      return rows.map(([isStandby, ...row]) => {
        if (isStandby) throw standbyError()
        return row as unknown as Row
      })
    },
  }
}

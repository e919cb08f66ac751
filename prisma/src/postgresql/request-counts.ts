import type { RequestCount, RequestCounts } from '../database.ts'
import type { Sql } from '../shared/sql.ts'

/** How often a server deletes the windows that have ended, in milliseconds. */
const SWEEP_INTERVAL = 600_000

/** A window that ends later than a new one would is of a limit that has changed since. */
const HAS_ENDED = `"stored"."endsAt" NOT BETWEEN now() AND excluded."endsAt" + interval '1 second'`
/** The keys are locked in order, so that servers that count the same keys at the same time never deadlock. */
const ADD = `
  INSERT INTO "RequestCount" AS "stored" ("key", "count", "endsAt")
  SELECT value ->> 0, (value ->> 1)::bigint, now() + $2 * interval '1 millisecond'
  FROM json_array_elements($1::json) AS added(value) ORDER BY 1
  ON CONFLICT ("key") DO UPDATE SET
    "count" = CASE WHEN ${HAS_ENDED} THEN 0 ELSE "stored"."count" END + excluded."count",
    "endsAt" = CASE WHEN ${HAS_ENDED} THEN excluded."endsAt" ELSE "stored"."endsAt" END
  RETURNING "key", "count", greatest(0, round(1000 * extract(epoch FROM "endsAt" - now())))::bigint`
const DELETE_ENDED = `
  DELETE FROM "RequestCount" WHERE "key" IN (
    SELECT "key" FROM "RequestCount" WHERE "endsAt" < now() LIMIT 10000 FOR UPDATE SKIP LOCKED)`

/** Creates the counts of requests of a PostgreSQL database. No statement is retried. */
export function createRequestCounts(sql: Sql, sweepInterval: number = SWEEP_INTERVAL): RequestCounts {
  let nextSweep = performance.now() + sweepInterval

  async function sweep(): Promise<void> {
    if (performance.now() < nextSweep) return
    nextSweep = performance.now() + sweepInterval
    await sql.execute(DELETE_ENDED)
  }

  return {
    async add(requests, window): Promise<RequestCount[]> {
      const rows = await sql.query<[string, string, string]>(ADD, JSON.stringify([...requests]), window)
      void sweep().catch(() => {})
      // The end of a window is stored in whole milliseconds.
      return rows.map(([key, count, endsIn]) => ({
        key,
        count: Number(count),
        endsIn: Math.min(Number(endsIn), window),
      }))
    },
  }
}

import { runSql } from '../../../../test/helpers/database/databases.ts'

/** Stores plants of 900 kB for an account, whose list is sent in many pieces: by default more than sockets take. */
export function addLongList(databaseUrl: string, account: string, count = 12): Promise<void> {
  return runSql(
    databaseUrl,
    `WITH RECURSIVE numbers(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM numbers WHERE i < ${count})
     INSERT INTO "Plant" (account, id, name) SELECT '${account}', 100 + i, hex(zeroblob(450000)) FROM numbers`,
  )
}

import BetterSqlite3 from 'better-sqlite3'

/**
 * Reads a database file, which a server may have open: the result of SQLite's integrity check, which is `ok` or its errors, and
 * the ids of the plants of all accounts, in order of creation.
 */
export function readDatabase(file: string): { integrity: unknown; ids: number[] } {
  const database = new BetterSqlite3(file, { readonly: true, timeout: 5_000 })
  try {
    const ids = database.prepare('SELECT "id" FROM "Plant" ORDER BY "seq"').pluck().all()
    return { integrity: database.pragma('integrity_check', { simple: true }), ids: ids.map(Number) }
  } finally {
    database.close()
  }
}

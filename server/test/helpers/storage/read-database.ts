import BetterSqlite3 from 'better-sqlite3'

/** The contents of a database file, read without the server. */
export interface DatabaseContents {
  /** `ok`, or the errors of SQLite's integrity check. */
  integrity: unknown
  /** The ids of the plants of all accounts, in order of creation. */
  ids: number[]
}

/** Reads a database file, which a server may have open. */
export function readDatabase(file: string): DatabaseContents {
  const database = new BetterSqlite3(file, { readonly: true, timeout: 5_000 })
  try {
    const ids = database.prepare('SELECT "id" FROM "Plant" ORDER BY "seq"').pluck().all()
    return { integrity: database.pragma('integrity_check', { simple: true }), ids: ids.map(Number) }
  } finally {
    database.close()
  }
}

import BetterSqlite3 from 'better-sqlite3'
import { onTestFinished } from 'vitest'

/** A second connection to the file, as another process would have one; past Prisma and past this package. */
export function connect(file: string): BetterSqlite3.Database {
  const connection = new BetterSqlite3(file, { timeout: 0 })
  onTestFinished(() => {
    connection.close()
  })
  return connection
}

/** Runs SQL on the file and lets go of it. */
export function runSql(file: string, sql: string): void {
  const connection = new BetterSqlite3(file)
  connection.exec(sql)
  connection.close()
}

/** The rows of a query, read past Prisma and past this package. */
export function query(file: string, sql: string): unknown[] {
  const connection = new BetterSqlite3(file)
  try {
    return connection.prepare(sql).all()
  } finally {
    connection.close()
  }
}

import BetterSqlite3 from 'better-sqlite3'
import { onTestFinished } from 'vitest'

/** Opens a second connection to the file, as another process would, without Prisma. */
export function connect(file: string): BetterSqlite3.Database {
  const connection = new BetterSqlite3(file, { timeout: 0 })
  onTestFinished(() => {
    connection.close()
  })
  return connection
}

/** Runs SQL on the file and closes it. */
export function runSql(file: string, sql: string): void {
  const connection = new BetterSqlite3(file)
  connection.exec(sql)
  connection.close()
}

/** Returns the rows of a query, without Prisma. */
export function query(file: string, sql: string): unknown[] {
  const connection = new BetterSqlite3(file)
  try {
    return connection.prepare(sql).all()
  } finally {
    connection.close()
  }
}

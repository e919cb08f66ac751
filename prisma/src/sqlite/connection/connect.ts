import { PrismaBetterSqlite3 } from '@prisma/adapter-better-sqlite3'
import type { SqlDriverAdapter } from '@prisma/driver-adapter-utils'
import type { Database, Statement } from 'better-sqlite3'

/** Never emptied, see {@link keepStatements}. */
const kept: object[] = []

/**
 * Connects Prisma's adapter to a SQLite file that exists.
 *
 * @param timeout how long a statement waits for another process's lock, in milliseconds, which blocks the event loop
 */
export async function connect(file: string, timeout: number = 0): Promise<SqlDriverAdapter> {
  return keepStatements(await new PrismaBetterSqlite3({ url: file, fileMustExist: true, timeout }).connect())
}

/** Runs an operation with a connection of its own. */
export async function withConnection<Result>(
  file: string,
  run: (connection: SqlDriverAdapter) => Promise<Result>,
  timeout?: number,
): Promise<Result> {
  const connection = await connect(file, timeout)
  try {
    return await run(connection)
  } finally {
    await connection.dispose()
  }
}

/**
 * Makes a connection of Prisma's adapter prepare each statement once and never release it.
 *
 * The adapter prepares a statement at every call and leaves it to the garbage collector. That takes 10 to 30 microseconds
 * a call, and from Node.js 24.19 on it ends the process: the destructor of better-sqlite3 12's objects aborts when the
 * collector runs outside of JavaScript (`RemoveEnvironmentCleanupHook`, seen with 24.21 under load; better-sqlite3 13 fixes
 * it and needs Node.js 22). So nothing from better-sqlite3 is ever collected: a few connections, and as many statements
 * as the program has.
 */
export function keepStatements(connection: SqlDriverAdapter): SqlDriverAdapter {
  const { client } = connection as unknown as { client: Database }
  const prepare = client.prepare.bind(client) as (sql: string) => Statement<unknown[]>
  const statements = new Map<string, Statement<unknown[]>>()
  kept.push(client, statements)

  function prepared(sql: string): Statement<unknown[]> {
    const cached = statements.get(sql)
    if (cached) return cached
    const statement = prepare(sql)
    statements.set(sql, statement)
    return statement
  }

  // The part of a statement that the adapter uses. Binding values is permanent, so they are passed at each run instead.
  const lend = (sql: string) => ({
    bind(values: unknown[]) {
      const statement = prepared(sql)
      return {
        reader: statement.reader,
        columns: () => statement.columns(),
        raw: () => ({ all: () => statement.raw().all(...values) }),
        run: () => statement.run(...values),
      }
    },
  })
  Object.assign(client, { prepare: lend })
  return connection
}

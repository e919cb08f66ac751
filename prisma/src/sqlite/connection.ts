/** The driver of SQLite: connects to a file, and runs statements. */

import { DatabaseSync, type SQLInputValue, type StatementColumnMetadata } from 'node:sqlite'
import { pathToFileURL } from 'node:url'
import { codeOf, translate } from './errors.ts'

/** What a result may hold: a piece of a list is bytes, and by hand, any text may be. */
export type Value = string | number | bigint | Uint8Array | null

/** What a statement has returned. */
export interface Result {
  readonly rows: Value[][]
  /** How many rows it has changed; of one that returns rows: how many it returned. */
  readonly rowCount: number
  /** Reading them costs as much as a row. The type is the one that the schema names; null: it is an expression. */
  readonly columns: readonly Pick<StatementColumnMetadata, 'name' | 'type'>[]
}

/** A connection to a file, which blocks the thread while it works. */
export interface FileConnection {
  /** @param values for `$1`, `$2` and so on or, as Prisma Client writes them, for each `?` */
  run(sql: string, values?: readonly SQLInputValue[]): Result
  executeScript(script: string): void
  close(): void
}

/** How to connect. */
export interface ConnectOptions {
  readonly readonly?: boolean
  /** How long SQLite waits for another connection's lock, which blocks the thread, in milliseconds. Default: 0. */
  readonly timeout?: number
  /** Default: private. */
  readonly cache?: Cache | undefined
  /** The first statements. At the first one that reads the schema, SQLite opens the log and its index. */
  readonly script?: string
}

/** Whether connections of this process share what they read, and its locks. */
export type Cache = 'private' | 'shared'

/** Returns the `file:` URL of a file that SQLite opens and never creates, whatever its name is. */
export function locate(file: string, mode: 'ro' | 'rw', cache: Cache = 'private'): string {
  return `${pathToFileURL(file)}?mode=${mode}&cache=${cache}`
}

/** Reads the schema. */
export const READ_SCHEMA = 'SELECT 1 FROM sqlite_schema'

/** How many statements stay prepared: those of requests, and some of Prisma Client, which writes a new one for each list. */
const MAX_PREPARED = 100

/**
 * Connects to a SQLite file that exists.
 *
 * @throws {StorageError} if it cannot be opened, or a first statement fails
 */
export function connect(
  file: string,
  { readonly = false, timeout = 0, cache, script = '' }: ConnectOptions = {},
): FileConnection {
  const translated = <Result>(operation: () => Result): Result => {
    try {
      return operation()
    } catch (error) {
      throw translate(error, file)
    }
  }
  // Integers above 2^53 are read exactly.
  const options = { timeout, readBigInts: true, returnArrays: true, defensive: true }
  const url = file === ':memory:' ? file : locate(file, readonly ? 'ro' : 'rw', cache)
  using opened = new DisposableStack()
  const sqlite = opened.use(translated(() => new DatabaseSync(url, options)))
  const prepared = new Map<string, ReturnType<typeof prepare>>()

  /** This takes 10 to 30 microseconds. */
  function prepare(sql: string) {
    const statement = sqlite.prepare(numberByPosition(sql))
    if (prepared.size === MAX_PREPARED) prepared.clear()
    const added = { statement, returnsRows: statement.columns().length > 0 }
    prepared.set(sql, added)
    return added
  }

  function run(sql: string, values: readonly SQLInputValue[]): Result {
    const { statement, returnsRows } = prepared.get(sql) ?? prepare(sql)
    if (!returnsRows) return { rows: [], rowCount: Number(statement.run(...values).changes), columns: [] }
    const rows = statement.all(...values) as unknown as Value[][]
    return {
      rows,
      rowCount: rows.length,
      get columns() {
        return statement.columns()
      },
    }
  }

  const connection: FileConnection = {
    run: (sql, values = []) =>
      translated(() => {
        try {
          return run(sql, values)
        } catch (error) {
          if (codeOf(error) !== 'SQLITE_ERROR') throw error
          // Another program may have changed the schema: a statement that cannot be prepared does not read it again.
          sqlite.exec(READ_SCHEMA)
          return run(sql, values)
        }
      }),
    executeScript: (script) => translated(() => sqlite.exec(script)),
    close: () => sqlite.close(),
  }
  connection.executeScript(script)
  opened.move()
  return connection
}

/** Writes `$1` as `?1`, whose values the driver takes in order. Texts in quotes stay. */
function numberByPosition(sql: string): string {
  return sql.replace(/'[^']*'|\$(?=\d)/g, (part) => (part === '$' ? '?' : part))
}

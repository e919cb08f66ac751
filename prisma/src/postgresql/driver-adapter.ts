import type { SqlQuery } from '@prisma/driver-adapter-utils'
import type { RetryOptions } from '../patience.ts'
import { type Connection, isRead, rejectTransaction } from '../prisma-client.ts'
import { mayHaveHappened } from './errors.ts'
import { DURABLY, ON_PRIMARY } from './guarantees.ts'
import type { Pool } from './pool.ts'

/** What the adapter passes its statements through. */
interface Passage {
  retry<Result>(run: () => Promise<Result>, options?: Pick<RetryOptions, 'mayRepeat'>): Promise<Result>
  read<Result>(reading: Promise<Result>): Promise<Result>
  write<Result>(writing: () => Promise<Result>): Promise<Result>
  readonly schemaName: string
}

/** So many statements are kept with their condition. */
const MAX_TEXTS = 100
/** A statement that inserts what is not there yet may run twice. */
const INSERTS_MISSING = /\bON CONFLICT\b.*\bDO NOTHING\s*$/s

/**
 * Creates what Prisma Client runs on. A read fails on a standby. A write that has the condition of durability is sent alone;
 * any other is a transaction, whose commit fails where it would not be durable.
 */
export function createAdapter(pool: Pool, { retry, read, write, schemaName }: Passage): Connection {
  const { connection } = pool
  const onPrimary = new Map<string, string>()

  function toRead(query: SqlQuery): SqlQuery {
    const sql = onPrimary.get(query.sql) ?? `SELECT * FROM (${query.sql}\n) AS "result" WHERE ${ON_PRIMARY}`
    // Prisma Client writes another statement for each length of a list.
    if (onPrimary.size < MAX_TEXTS) onPrimary.set(query.sql, sql)
    return { ...query, sql }
  }

  /** Runs a statement, again unless it may have happened, and happened twice then. */
  function writeAlone<Result>(query: SqlQuery, run: (connection: Connection) => Promise<Result>): Promise<Result> {
    const mayRepeat = (error: unknown) => INSERTS_MISSING.test(query.sql) || !mayHaveHappened(error)
    return retry(() => run(connection), { mayRepeat })
  }

  /** Runs a statement in a transaction, again unless its commit was sent. */
  function writeDurably<Result>(run: (connection: Connection) => Promise<Result>): Promise<Result> {
    let isCommitting = false
    const attempt = async () => {
      const { connection, commit, close } = await pool.begin()
      try {
        const result = await run(connection)
        isCommitting = true
        await commit()
        return result
      } finally {
        await close()
      }
    }
    return retry(attempt, { mayRepeat: () => !isCommitting })
  }

  function writeStatement<Result>(query: SqlQuery, run: (connection: Connection) => Promise<Result>): Promise<Result> {
    return write(() => (query.sql.includes(DURABLY) ? writeAlone(query, run) : writeDurably(run)))
  }

  return {
    provider: connection.provider,
    adapterName: connection.adapterName,
    queryRaw: (query) =>
      isRead(query)
        ? read(retry(() => connection.queryRaw(toRead(query))))
        : writeStatement(query, ({ queryRaw }) => queryRaw(query)),
    executeRaw: (query) => writeStatement(query, ({ executeRaw }) => executeRaw(query)),
    executeScript: rejectTransaction,
    schemaName,
  }
}

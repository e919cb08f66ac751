import type { ArgType, SqlQuery } from '@prisma/driver-adapter-utils'
import type { RetryOptions } from '../patience.ts'
import { type Connection, isRead, rejectTransaction } from '../prisma-client.ts'
import { mayHaveHappened } from './errors.ts'
import { DURABLY, IN_UTC, ON_PRIMARY } from './guarantees.ts'
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
/** The end of a statement that Prisma Client writes. */
const OFFSET = /\bOFFSET (\$?\d+)\s*$/i
/** A statement that inserts what is not there yet may run twice. */
const INSERTS_MISSING = /\bON CONFLICT\b.*\bDO NOTHING\s*$/s

/**
 * Creates what Prisma Client runs on. A statement that has its condition is sent as it is. Any other read gets the condition
 * that it runs on the primary, and any other write is a transaction, whose commit fails where it would not be durable.
 */
export function createAdapter(pool: Pool, { retry, read, write, schemaName }: Passage): Connection {
  const { connection } = pool
  const onPrimary = new Map<string, string>()

  function toRead({ sql, args, argTypes }: SqlQuery): SqlQuery {
    if (sql.includes(ON_PRIMARY)) return { sql, args, argTypes }
    const text = onPrimary.get(sql) ?? withCondition(sql)
    // Prisma Client writes another statement for each length of a list.
    if (onPrimary.size < MAX_TEXTS) onPrimary.set(sql, text)
    return { sql: text, args: args.map(withOffset), argTypes: argTypes.map(asText) }
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

/**
 * Adds its condition to a statement that reads. An OFFSET belongs to the statement in parentheses, so that its order is the one
 * of the result; that of a subquery would not have to be. It is computed once, before the first row.
 */
function withCondition(sql: string): string {
  const [, offset = '0'] = OFFSET.exec(sql) ?? []
  return `(${sql.replace(OFFSET, '')}\n) OFFSET ${offset} + CASE WHEN ${ON_PRIMARY} AND ${IN_UTC} THEN 0::bigint END`
}

/** Writes a time among the parameters with its offset: it is read before the condition is computed. */
function withOffset(value: unknown): unknown {
  return value instanceof Date ? value.toISOString() : value
}

/** Keeps the driver's adapter from writing a time without its offset. */
function asText(type: ArgType): ArgType {
  return type.scalarType === 'datetime' ? { ...type, scalarType: 'string' } : type
}

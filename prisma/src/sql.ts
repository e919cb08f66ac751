import type { ArgType, SqlQueryable } from '@prisma/driver-adapter-utils'

/** What a statement takes and gives. */
export type SqlValue = string | number | null

/**
 * SQL for the few statements that every request runs, on the connection of Prisma Client, through the same driver
 * adapter and the same gate. For every raw statement Prisma Client compiles a plan in its WebAssembly engine and hands
 * values through it, which takes 60 to 80 microseconds (measured with 7.10 on Node.js 20), a third of a durable insert.
 */
export interface Sql {
  /** Runs a statement and gives how many rows it changed. */
  execute(sql: string, ...values: SqlValue[]): Promise<number>
  /** Runs a query and gives its rows, values in the order of its columns; an integer beyond 2^53 comes as text. */
  query<Row extends readonly SqlValue[]>(sql: string, ...values: SqlValue[]): Promise<Row[]>
}

/** SQL on whatever connection Prisma Client has at the time. */
export function createSql(current: () => SqlQueryable | undefined): Sql {
  function connection(): SqlQueryable {
    const queryable = current()
    if (!queryable) throw new Error('The database is not connected')
    return queryable
  }

  return {
    execute: (sql, ...args) => connection().executeRaw({ sql, args, argTypes: args.map(argumentType) }),
    async query<Row>(sql: string, ...args: SqlValue[]) {
      return (await connection().queryRaw({ sql, args, argTypes: args.map(argumentType) })).rows as Row[]
    },
  }
}

function argumentType(value: SqlValue): ArgType {
  return { scalarType: typeof value === 'number' ? 'int' : 'string', arity: 'scalar' }
}

import type { SqlQueryable } from '@prisma/driver-adapter-utils'

/** The rows of one SQL statement without parameters, as objects by column name. */
export async function select(connection: SqlQueryable, sql: string): Promise<Record<string, unknown>[]> {
  const { columnNames, rows } = await connection.queryRaw({ sql, args: [], argTypes: [] })
  return rows.map((row) => Object.fromEntries(columnNames.map((name, index) => [name, row[index]])))
}

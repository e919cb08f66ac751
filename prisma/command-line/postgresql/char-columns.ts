import { ColumnTypeEnum, type SqlResultSet } from '@prisma/driver-adapter-utils'
import type pg from 'pg'

/** PostgreSQL's numbers of the types "char" and text. */
const CHAR = 18
const TEXT = 25

/**
 * Lets the driver adapter read columns of the type "char", which PostgreSQL's catalogue has and the adapter rejects.
 *
 * @param pool one connection, used for one query after the other
 * @returns restores the type in the result of the last query: the engine accepts no other
 */
export function readCharColumns(pool: pg.Pool): (result: SqlResultSet) => SqlResultSet {
  let isChar: boolean[] = []
  pool.on('connect', (client) => {
    const query = client.query.bind(client) as (config: pg.QueryArrayConfig) => Promise<pg.QueryArrayResult>
    const queryAndRelabel = async (config: pg.QueryArrayConfig) => {
      const result = await query(config)
      // A script returns one result for each statement.
      const fields = Array.isArray(result) ? [] : result.fields
      isChar = fields.map(({ dataTypeID }) => dataTypeID === CHAR)
      for (const field of fields) if (field.dataTypeID === CHAR) field.dataTypeID = TEXT
      return result
    }
    Object.assign(client, { query: queryAndRelabel })
  })
  return (result) => ({
    ...result,
    columnTypes: result.columnTypes.map((type, index) => (isChar[index] ? ColumnTypeEnum.Character : type)),
  })
}

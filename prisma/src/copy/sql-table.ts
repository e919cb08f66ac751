import type { Dialect, Sql } from '../shared/sql.ts'
import {
  type ColumnType,
  type Row,
  type Table,
  type TableDefinition,
  type TableName,
  tableDefinitions,
} from './tables.ts'

/** How the SQL of an engine differs where whole tables are copied. */
export interface CopyDialect extends Dialect {
  /** Selects `value`, a JSON array for each row of the first parameter. */
  readonly rows: string
  /** Reads a number of a column. */
  readNumber(column: string): string
  /** Writes a value of a row, which is a text, as what the column stores. */
  write(value: string, type: ColumnType): string
  /** What lets an INSERT choose a value that the engine generates otherwise. */
  readonly overriding: string
}

/** Runs an operation, again while the database is busy or not reachable. */
type Run = <Result>(operation: () => Promise<Result>) => Promise<Result>

/** A batch has at most this many rows: larger ones are not faster. */
const MAX_BATCH_ROWS = 2_048
/** A batch of more than one row has at most this many bytes of text. */
const MAX_BATCH_BYTES = 2 ** 21

/** Creates all tables of a database. */
export function createTables(sql: Sql, dialect: CopyDialect, run: Run): Record<TableName, Table> {
  const create = (name: TableName) => createTable(name, sql, dialect, run)
  return { Secret: create('Secret'), Token: create('Token'), Plant: create('Plant') }
}

function createTable(name: TableName, sql: Sql, dialect: CopyDialect, run: Run): Table {
  const select = writeSelect(name, tableDefinitions[name], dialect)
  const insert = writeInsert(name, tableDefinitions[name], dialect)
  return {
    read: (after) => run(() => sql.query<Row>(select, after, MAX_BATCH_ROWS, MAX_BATCH_BYTES)),
    insert: (rows) => run(() => sql.execute(insert, JSON.stringify(rows))),
  }
}

/** Selects the rows after a key whose sizes add up to a batch, or the first one alone. */
function writeSelect(name: string, { columns }: TableDefinition, dialect: CopyDialect): string {
  const entries = Object.entries(columns)
  const texts = entries.filter(([, type]) => type === 'text')
  const key = `"${entries[0]?.[0]}"`
  const bytes = texts.map(([column]) => `coalesce(octet_length("${column}"), 0)`).join(' + ')
  return `
    SELECT ${entries.map(([column, type]) => readColumn(`"${column}"`, type, dialect)).join(', ')} FROM "${name}"
    WHERE ${key} > $1 AND ${key} <= (
      SELECT max(${key}) FROM (
        SELECT ${key}, "bytes", sum("bytes") OVER (ORDER BY ${key}) AS "total"
        FROM (SELECT ${key}, ${bytes} AS "bytes" FROM "${name}"
              WHERE ${key} > $1 ORDER BY ${key} LIMIT $2) AS "sizes") AS "totals"
      WHERE "total" <= $3 OR "total" = "bytes")
    ORDER BY ${key}`
}

/** Reads a column as a value of a row. */
function readColumn(column: string, type: ColumnType, { readNumber, readTime }: CopyDialect): string {
  if (type === 'text') return column
  return type === 'time' ? readTime(column) : readNumber(column)
}

/** Inserts rows in order, so that a batch that is sent again changes nothing. */
function writeInsert(name: string, { columns, updatable = [] }: TableDefinition, dialect: CopyDialect): string {
  const entries = Object.entries(columns)
  const names = entries.map(([column]) => `"${column}"`)
  const values = entries.map(([, type], index) => dialect.write(`value ->> ${index}`, type))
  const set = updatable.map((column) => `"${column}" = excluded."${column}"`)
  const isSet = updatable.map((column) => `"${name}"."${column}" IS NULL AND excluded."${column}" IS NOT NULL`)
  const update = `(${names[0]}) DO UPDATE SET ${set.join(', ')} WHERE ${isSet.join(' OR ')}`
  return `
    INSERT INTO "${name}" (${names.join(', ')}) ${dialect.overriding}
    SELECT ${values.join(', ')} FROM ${dialect.rows} WHERE true ORDER BY ${values[0]}
    ON CONFLICT ${updatable.length > 0 ? update : 'DO NOTHING'}`
}

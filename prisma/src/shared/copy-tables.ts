import type { Sql } from './sql.ts'

type ColumnType = 'number' | 'text' | 'time'

/**
 * The columns of the tables that are copied, in this order. The first is the primary key, in the order of which rows are
 * read. The counts of `Edits` are not copied: they belong to the lists that the servers of one database have cached.
 */
export const tables = {
  Secret: { name: 'text', value: 'text' },
  Token: {
    id: 'text',
    hash: 'text',
    account: 'text',
    scopes: 'text',
    label: 'text',
    createdAt: 'time',
    expiresAt: 'time',
    revokedAt: 'time',
  },
  Plant: { seq: 'number', account: 'text', id: 'text', name: 'text', tag: 'text', createdAt: 'time' },
} as const satisfies Record<string, Readonly<Record<string, ColumnType>>>

export type TableName = keyof typeof tables

export const tableNames = Object.keys(tables) as TableName[]

/** A row: its key, and the values of the other columns; a time as {@link CopyDialect.readTime} reads it. */
export type Row = readonly [key: string | number, ...values: (string | number | null)[]]

/** How the SQL of an engine differs where whole tables are copied. */
export interface CopyDialect {
  /** Reads the time of a column in the form in which Prisma stores it in SQLite; NULL if it is not one. */
  readTime(column: string): string
  /** Inserts the rows of a JSON array of objects, with their keys. */
  insert(table: TableName, columns: readonly string[]): string
  /** Selects the largest `seq` that a plant has or had; 0 if there was none. */
  readonly selectLastSeq: string
  /** Statements after which the next plant gets a larger `seq` than the first parameter. */
  readonly continueAfter: readonly string[]
}

/** Which of the two databases of a copy: the source is only read. */
export type CopyRole = 'source' | 'target'

/** A connection of its own to a database of a copy: to the target in a transaction. */
export interface CopyConnection {
  /** Names the database in messages. */
  readonly name: string
  readonly dialect: CopyDialect
  /** Runs a statement. */
  readonly query: Sql['query']
  commit(): Promise<void>
  /** Closes the connection. What is not committed is undone. */
  close(): Promise<void>
}

/** A batch has at most this many rows: larger ones take more memory, and are not faster. */
const MAX_BATCH_ROWS = 1_024
/** A batch of more than one row has at most this many bytes of text. */
const MAX_BATCH_BYTES = 2 ** 21

/** Reads a table in batches, in order of its keys; the rows of one add up to a limited size, or it is one row. */
export async function* readBatches(
  { query, dialect }: CopyConnection,
  name: TableName,
): AsyncGenerator<Row[], undefined> {
  const columns = Object.entries(tables[name])
  const [[keyColumn = '', keyType] = []] = columns
  const key = `"${keyColumn}"`
  const texts = columns.filter(([, type]) => type === 'text')
  const bytes = texts.map(([column]) => `coalesce(octet_length("${column}"), 0)`).join(' + ')
  const select = `
    SELECT ${columns.map(([column, type]) => readColumn(`"${column}"`, type, dialect)).join(', ')} FROM "${name}"
    WHERE ${key} > $1 AND ${key} <= (
      SELECT max(${key}) FROM (
        SELECT ${key}, "bytes", sum("bytes") OVER (ORDER BY ${key}) AS "total"
        FROM (SELECT ${key}, ${bytes} AS "bytes" FROM "${name}" WHERE ${key} > $1 ORDER BY ${key} LIMIT $2) AS "sizes"
      ) AS "totals"
      WHERE "total" <= $3 OR "total" = "bytes")
    ORDER BY ${key}`
  for (let after: Row[0] = keyType === 'number' ? Number.MIN_SAFE_INTEGER : ''; ; ) {
    const rows = await query<Row>(select, after, MAX_BATCH_ROWS, MAX_BATCH_BYTES)
    const last = rows.at(-1)
    if (!last) return
    yield rows
    after = last[0]
  }
}

function readColumn(column: string, type: ColumnType, { readTime }: CopyDialect): string {
  if (type === 'text') return column
  // A double, since PostgreSQL's driver returns a BIGINT as text.
  return type === 'time' ? readTime(column) : `CAST(${column} AS double precision)`
}

/** Inserts rows of a table. */
export async function insertBatch(
  { query, dialect }: CopyConnection,
  name: TableName,
  rows: readonly Row[],
): Promise<void> {
  const columns = Object.keys(tables[name])
  const objects = rows.map((row) => Object.fromEntries(columns.map((column, index) => [column, row[index]])))
  await query(dialect.insert(name, columns), JSON.stringify(objects))
}

/** What a column holds: a number, a text, or a time in milliseconds since 1970. */
export type ColumnType = 'number' | 'text' | 'time'

/** A table that is copied. */
export interface TableDefinition {
  /** By name, in the order of the values of a row. The first is the primary key, which rows are read in the order of. */
  readonly columns: Readonly<Record<string, ColumnType>>
  /** The columns that a later copy may set in a row of the target, where they are still null. */
  readonly updatable?: readonly string[]
}

/**
 * The tables that are copied, in this order. The counts of `Edits` are not: they belong to the lists that the servers of
 * one database have cached.
 */
export const tableDefinitions = {
  Secret: { columns: { name: 'text', value: 'text' } },
  Token: {
    columns: {
      id: 'text',
      hash: 'text',
      account: 'text',
      scopes: 'text',
      label: 'text',
      createdAt: 'time',
      expiresAt: 'time',
      revokedAt: 'time',
    },
    updatable: ['revokedAt'],
  },
  Plant: { columns: { seq: 'number', account: 'text', id: 'text', name: 'text', tag: 'text', createdAt: 'time' } },
} as const satisfies Record<string, TableDefinition>

export type TableName = keyof typeof tableDefinitions

export const tableNames = Object.keys(tableDefinitions) as TableName[]

/** A value of a row; a time in milliseconds since 1970. */
export type Value = string | number | null

/** The values of a row, in the order of the columns. The first is the key. */
export type Row = readonly [key: Key, ...values: Value[]]

export type Key = string | number

/** A table of a database. */
export interface Table {
  /** Reads the next rows in order of their keys: a few thousand, fewer if they are long; empty if none is left. */
  read(after: Key): Promise<Row[]>
  /** Inserts rows that are missing, and sets updatable columns: all or none, durably. Returns how many have changed. */
  insert(rows: readonly Row[]): Promise<number>
}

/** One of the two databases of a copy. */
export interface Side {
  /** Names the database in messages. */
  readonly name: string
  readonly tables: Readonly<Record<TableName, Table>>
  /** Returns a text that only this database has, however its URL is written. */
  identify(): Promise<string>
  /** Returns the largest `seq` that a plant has or had; 0 if there was none. */
  lastSeq(): Promise<number>
  /** Makes the next plant of the database get a larger `seq` than this one. */
  continueAfter(seq: number): Promise<void>
  close(): Promise<void>
}

/** What a database is in a copy. A source is only read. */
export type Role = 'source' | 'target'

/** Returns a key before all others of a table. */
export function keyBeforeAll(name: TableName): Key {
  const [type] = Object.values(tableDefinitions[name].columns)
  return type === 'number' ? Number.MIN_SAFE_INTEGER : ''
}

import { DatabaseError } from '../database-error.ts'
import { describeRow } from './compare.ts'
import type { ReportPlants } from './progress.ts'
import { readBatches } from './read-rows.ts'
import { type Key, type Row, type Side, type TableName, tableDefinitions } from './tables.ts'

/** What is copied. */
export interface RowsToCopy {
  readonly source: Side
  readonly target: Side
  readonly name: TableName
  /** Only rows after this key. Default: all. */
  readonly after?: Key | undefined
  readonly signal?: AbortSignal | undefined
  /** For plants. */
  readonly report?: ReportPlants
}

/**
 * Copies the rows of a table that the target lacks. While it stores one batch, the next one is read.
 *
 * @returns how many rows of the target have changed
 * @throws {DatabaseError} if a database cannot be used, or a row not be copied; the signal's reason
 */
export async function copyRows({ source, target, name, after, signal, report }: RowsToCopy): Promise<number> {
  let storing = Promise.resolve(0)
  let changed = 0
  let read = 0
  for await (const rows of readBatches(source, name, signal, after)) {
    changed += await storing
    for (const row of rows) rejectUnstorable(name, row, source)
    storing = target.tables[name].insert(rows)
    // It is awaited after the next batch is read.
    storing.catch(() => {})
    read += rows.length
    report?.(read, Number(rows.at(-1)?.[0]))
  }
  return changed + (await storing)
}

/** Rejects what the service never stores, but what can be written to a database by hand. */
function rejectUnstorable(name: TableName, row: Row, source: Side): void {
  const columns = Object.keys(tableDefinitions[name].columns)
  const problem = (value: Row[number], column: string | undefined) => {
    if (typeof value === 'string' && value.includes('\0')) return `a NUL in ${column}`
    return value === null && column === 'createdAt' ? `a ${column} that is not a time` : undefined
  }
  for (const [index, value] of row.entries()) {
    const what = problem(value, columns[index])
    if (what) throw new DatabaseError(`${source.name} has ${what} of ${describeRow(name, row)}: change it and retry`)
  }
}

import { DatabaseError } from '../database-error.ts'
import type { ReportPlants } from './progress.ts'
import { readRows } from './read-rows.ts'
import { type Key, type Row, type Side, type TableDefinition, type TableName, tableDefinitions } from './tables.ts'

/** How often progress is reported, in plants. */
const REPORT_INTERVAL = 4_096

/** What is compared. */
export interface Comparison {
  readonly source: Side
  readonly target: Side
  readonly signal?: AbortSignal | undefined
  readonly report: ReportPlants
}

/**
 * Checks that the target has nothing but rows of the source: of the plants the first ones, of the other tables any.
 *
 * @returns the key of the last plant that the target has; undefined: none
 * @throws {DatabaseError} if it has other data, or the signal's reason
 */
export async function compare(comparison: Comparison): Promise<Key | undefined> {
  for (const name of ['Secret', 'Token'] as const) await compareSome(comparison, name)
  return comparePlants(comparison)
}

async function compareSome({ source, target, signal }: Comparison, name: TableName): Promise<void> {
  const copied = readRows(target, name, signal)
  let { value: row } = await copied.next()
  for await (const original of readRows(source, name, signal)) {
    if (!row) return
    if (row[0] !== original[0]) continue
    rejectDifference(name, original, row, source, target)
    row = (await copied.next()).value
  }
  if (row) throw otherData(`${describeRow(name, row)} is not in ${source.name}`, target)
}

/** Plants are copied in order, so that of a copy that was interrupted the first ones are there. */
async function comparePlants({ source, target, signal, report }: Comparison): Promise<Key | undefined> {
  const name = 'Plant'
  const originals = readRows(source, name, signal)
  let last: Key | undefined
  let plants = 0
  for await (const row of readRows(target, name, signal)) {
    const { value: original } = await originals.next()
    if (!original || original[0] > row[0]) {
      throw otherData(`${describeRow(name, row)} is not in ${source.name}`, target)
    }
    if (original[0] < row[0]) {
      throw otherData(`${describeRow(name, original)} of ${source.name} is missing, but later ones are there`, target)
    }
    rejectDifference(name, original, row, source, target)
    last = row[0]
    if (++plants % REPORT_INTERVAL === 0) report(plants, Number(last))
  }
  return last
}

function rejectDifference(name: TableName, original: Row, row: Row, source: Side, target: Side): void {
  const { columns, updatable = [] }: TableDefinition = tableDefinitions[name]
  for (const [index, column] of Object.keys(columns).entries()) {
    if (row[index] === original[index]) continue
    if (row[index] === null && updatable.includes(column)) continue
    throw otherData(`${describeRow(name, row)} has another ${column} than in ${source.name}`, target)
  }
}

/** Names a row without its content, which may be secret or long. */
export function describeRow(name: TableName, [key]: Row): string {
  const [column] = Object.keys(tableDefinitions[name].columns)
  return `the ${name.toLowerCase()} with ${column} ${JSON.stringify(key)}`
}

function otherData(what: string, target: Side): DatabaseError {
  return new DatabaseError(
    `${target.name} has other data: ${what}. Nothing was copied: choose a new database as the target, or check --from and --to`,
  )
}

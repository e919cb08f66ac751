import { type Key, keyBeforeAll, type Row, type Side, type TableName } from './tables.ts'

/** Reads a table in batches, in order of its keys, each while the one before is used. */
export async function* readBatches(
  { tables }: Side,
  name: TableName,
  signal: AbortSignal | undefined,
  after: Key = keyBeforeAll(name),
): AsyncGenerator<Row[], undefined> {
  for (let last = after; ; ) {
    signal?.throwIfAborted()
    const rows = await tables[name].read(last)
    const end = rows.at(-1)
    if (!end) return
    last = end[0]
    yield rows
  }
}

/** Reads a table row by row, in order of its keys. */
export async function* readRows(side: Side, name: TableName, signal?: AbortSignal): AsyncGenerator<Row, undefined> {
  for await (const rows of readBatches(side, name, signal)) yield* rows
}

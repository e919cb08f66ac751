import { readFileSync } from 'node:fs'

/** A filter by tag as CONTRIBUTING.md has it for an engine. */
export interface Filter {
  /** Returns the plants after a `seq`, in SQL. */
  readonly plants: (seq: string) => string
  /** The SQL that creates its index. */
  readonly index: string
}

/** Reads the filter of an engine. */
export function readFilter(engine: 'sqlite' | 'postgresql'): Filter {
  const guide = readFileSync(new URL('../../../CONTRIBUTING.md', import.meta.url), 'utf8')
  const position = engine === 'sqlite' ? 0 : 1
  const plants = [...guide.matchAll(/selectPieceByTag: selectPieceOf\(\n(.*?),\n\),/gs)][position]?.[1]
  const index = guide.match(/CREATE INDEX "Plant_account_tag_seq_idx"[^;]*;/g)?.[position] ?? ''
  // Whoever has followed the guide has it.
  return { plants: Function(`return ${plants}`)(), index: index.replace('INDEX', 'INDEX IF NOT EXISTS') }
}

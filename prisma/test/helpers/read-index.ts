import { readFileSync } from 'node:fs'
import { listFilters } from '../../src/plants.ts'

/** The filters of lists, and one by tag, which CONTRIBUTING.md describes. */
export const filters: readonly string[] = [...new Set<string>([...listFilters, 'tag'])]

/**
 * Returns the SQL of the index of a filter by tag, as CONTRIBUTING.md has it for an engine: nothing once a migration
 * has it.
 */
export function readIndex(engine: 'sqlite' | 'postgresql'): string {
  if ((listFilters as readonly string[]).includes('tag')) return ''
  const guide = readFileSync(new URL('../../../CONTRIBUTING.md', import.meta.url), 'utf8')
  const [first, second] = guide.match(/CREATE INDEX "Plant_account_tag_seq_idx"[^;]*;/g) ?? []
  return (engine === 'sqlite' ? first : second) ?? ''
}

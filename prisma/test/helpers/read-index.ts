import { readFileSync } from 'node:fs'

/** Returns the index of a filter by tag, as CONTRIBUTING.md has it for an engine. */
export function readIndex(engine: 'sqlite' | 'postgresql'): string {
  const guide = readFileSync(new URL('../../../CONTRIBUTING.md', import.meta.url), 'utf8')
  const [first, second] = guide.match(/CREATE INDEX "Plant_account_tag_seq_idx"[^;]*;/g) ?? []
  return (engine === 'sqlite' ? first : second) ?? ''
}

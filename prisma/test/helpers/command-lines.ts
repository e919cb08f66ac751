import { readdirSync, readFileSync } from 'node:fs'

/** Returns the arguments of all processes, as `ps` shows them. Linux only. */
export function commandLines(): string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((id) => {
      try {
        return readFileSync(`/proc/${id}/cmdline`, 'utf8')
      } catch {
        // It has ended.
        return ''
      }
    })
}

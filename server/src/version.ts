import { readFileSync } from 'node:fs'

/** Reads the version of the server from its package. */
export function readVersion(): string {
  return JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')).version
}

import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import path from 'node:path'

/** One folder of `migrations/`. */
export interface Migration {
  readonly name: string
  readonly script: string
}

/** Where the migrations of each engine are: the same folder from `src/` and from the compiled `dist/`. */
export const migrationsFolders = {
  sqlite: path.join(import.meta.dirname, '../../migrations'),
  postgresql: path.join(import.meta.dirname, '../../postgresql/migrations'),
}

/** Reads the migrations in the order in which they are applied: by name, which begins with the time. */
export async function readMigrations(folder: string): Promise<Migration[]> {
  const entries = await readdir(folder, { withFileTypes: true })
  const names = entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name)
  return Promise.all(
    names
      .sort()
      .map(async (name) => ({ name, script: await readFile(path.join(folder, name, 'migration.sql'), 'utf8') })),
  )
}

/** Returns whether a checksum from the database is this script's. Line endings do not count: git may rewrite them. */
export function hasChecksum(script: string, checksum: string): boolean {
  const lineFeeds = script.replaceAll('\r\n', '\n')
  return [lineFeeds, lineFeeds.replaceAll('\n', '\r\n')].some((text) => sha256(text) === checksum)
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

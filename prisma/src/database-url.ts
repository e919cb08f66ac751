import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { DatabaseError } from './database-error.ts'

/** Where the data is unless DATABASE_URL says otherwise; relative to the repository root. */
export const DEFAULT_DATABASE_URL = 'file:./data/plant-store.db'

/** The folder that relative paths are relative to. The same from `src/` and from the compiled `dist/`. */
export const repositoryRoot = fileURLToPath(new URL('../../', import.meta.url))

/**
 * The absolute path of the database file that a DATABASE_URL names: `file:./data/x.db`, relative to `root`, or
 * `file:/srv/x.db`, also written `file:///srv/x.db`. As everywhere in Prisma, what follows `file:` is a path and
 * not percent-encoded.
 *
 * @throws {DatabaseError} if it names no file
 */
export function databaseFile(value: string, root: string = repositoryRoot): string {
  const written = value.replace(/^file:/, '')
  const reason = whyNotAFile(value, written)
  if (reason) throw new DatabaseError(`DATABASE_URL ${reason}; write for example ${DEFAULT_DATABASE_URL}`)
  // On Windows: file:///C:/plants.db
  return path.resolve(root, written.replace(/^\/+(?=[A-Za-z]:[\\/])/, ''))
}

/**
 * DATABASE_URL in the one form that the Prisma command line, Prisma Studio and this package all take:
 * `file:///absolute/path`.
 *
 * @throws {DatabaseError} if it names no file
 */
export function databaseUrl(value: string = DEFAULT_DATABASE_URL, root: string = repositoryRoot): string {
  const file = databaseFile(value, root).split(path.sep).join('/')
  return file.startsWith('/') ? `file://${file}` : `file:///${file}`
}

function whyNotAFile(value: string, written: string): string | undefined {
  if (value.trim() === '') return 'is empty'
  if (!value.startsWith('file:')) return 'does not start with "file:", and the plants are kept in a SQLite file'
  if (/(^|[\\/])\s*\.*$/.test(written)) return 'names no file'
  if (written.includes(':memory:')) return 'names a database in memory, which would forget every plant'
  if (/[?#\0]/.test(written)) return 'contains "?", "#" or NUL: a file URL takes no parameters here'
  if (/^\/\/[^/]/.test(written)) return 'names another host: write file:/path or file:///path'
  return undefined
}

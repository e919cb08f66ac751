/** What a DATABASE_URL names, for both engines. */

import path from 'node:path'
import { baseFolder } from './base-folder.ts'
import { type Engine, StorageError } from './engine.ts'
import { readAddress } from './postgresql/address.ts'

/** The default of DATABASE_URL, relative to {@link baseFolder}. */
export const DEFAULT_DATABASE_URL = 'file:./data/plant-store.db'
/** What SQLite and Prisma take after the name of a file. */
const PARAMETERS = /(\?\w+)=[^\\/]*$/

/** A home folder or a variable that a shell would replace. */
const UNEXPANDED = /^\/*~\w*(?=\/)|(?<=^|\/)\$[a-z_]\w*(?=\/|$)|\$\{\w+\}/i

/** Returns whether a DATABASE_URL is one of PostgreSQL. */
export function isPostgresqlUrl(value: string): boolean {
  return /^postgres(ql)?:/i.test(value)
}

/**
 * Checks a DATABASE_URL and returns it in the one form that the Prisma command line, Prisma Studio and this package all
 * support: `file:///absolute/path` for SQLite; that of PostgreSQL as it is. White space at its ends is not part of it.
 *
 * @throws {StorageError} whose message does not contain the URL, which may have a password; if a file that it names
 *   cannot be read
 */
export function databaseUrl(value: string = DEFAULT_DATABASE_URL, root: string = baseFolder): string {
  const trimmed = value.trim()
  if (isPostgresqlUrl(trimmed)) {
    readAddress(trimmed)
    return trimmed
  }
  const file = databaseFile(trimmed, root).split(path.sep).join('/')
  return file.startsWith('/') ? `file://${file}` : `file:///${file}`
}

/** Names the engine and the database of a DATABASE_URL that `databaseUrl` has checked, without user and password. */
export function nameDatabase(url: string): string {
  if (!isPostgresqlUrl(url)) return `sqlite ${databaseFile(url)}`
  return readAddress(url).subject.replace(/^the/, 'postgresql')
}

/**
 * Returns the absolute path of the file that a DATABASE_URL names: `file:./data/x.db`, relative to `root`, or
 * `file:/srv/x.db`, also written `file:///srv/x.db`. As everywhere in Prisma, the path is not percent-encoded: `#`, `%`
 * and `?` are part of it.
 *
 * @throws {StorageError} if it names no file
 */
export function databaseFile(value: string, root: string = baseFolder): string {
  const written = value.replace(/^file:/, '')
  const reason = whyNotAFile(value, written)
  if (reason) throw new StorageError(`DATABASE_URL ${reason}; write for example ${DEFAULT_DATABASE_URL}`)
  // On Windows: file:///C:/plants.db
  return path.resolve(root, written.replace(/^\/+(?=[A-Za-z]:[\\/])/, ''))
}

function whyNotAFile(value: string, written: string): string | undefined {
  if (value.trim() === '') return 'is empty'
  if (!value.startsWith('file:')) return 'does not start with "file:" or "postgresql:"'
  if (/(^|[\\/])\s*\.*$/.test(written)) return 'does not name a file'
  const [unexpanded] = UNEXPANDED.exec(written) ?? []
  if (unexpanded) return `has "${unexpanded.replace(/^\/+/, '')}", which is not expanded: write the path itself`
  if (written.startsWith(':memory:')) return 'names a database in memory, which is lost when the server stops'
  // The values may be secrets.
  const [, first] = PARAMETERS.exec(written) ?? []
  if (first) return `has parameters, which are not supported: remove "${first}" and what follows`
  if (/^\/\/[^/]/.test(written)) return 'names another host: write file:/path or file:///path'
  return undefined
}

/** Loads the engine of the database that a DATABASE_URL names, see `databaseUrl`. */
export async function loadEngine(url: string): Promise<Engine> {
  if (isPostgresqlUrl(url)) return (await import('./postgresql/engine.ts')).createEngine(readAddress(url))
  const file = databaseFile(url)
  return (await import('./sqlite/engine.ts')).createEngine(file, file === databaseFile(DEFAULT_DATABASE_URL))
}

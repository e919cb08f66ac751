import { realpathSync, statSync } from 'node:fs'
import path from 'node:path'
import { StorageError } from '../database.ts'
import { baseFolder } from '../environment.ts'
import { translate } from './errors.ts'

/** The default of DATABASE_URL, relative to {@link baseFolder}. */
export const DEFAULT_DATABASE_URL = 'file:./data/plant-store.db'
/** What SQLite and Prisma take after the name of a file. */
const PARAMETERS = /(\?\w+)=[^\\/]*$/
/** What SQLite appends to the name of a database for its files, that of the database itself included. */
const SUFFIXES = ['', '-wal', '-shm', '-journal']

/**
 * Returns the absolute path of the file that a DATABASE_URL names: `file:./data/x.db`, relative to `root`, or
 * `file:/srv/x.db`, also written `file:///srv/x.db`. As everywhere in Prisma, the path is not percent-encoded: `#`, `%` and `?`
 * are part of it.
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
  if (written.startsWith(':memory:')) return 'names a database in memory, which is lost when the server stops'
  if (written.includes('\0')) return 'contains NUL'
  // The values may be secrets.
  const [, first] = PARAMETERS.exec(written) ?? []
  if (first) return `has parameters, which are not supported: remove "${first}" and what follows`
  if (/^\/\/[^/]/.test(written)) return 'names another host: write file:/path or file:///path'
  return undefined
}

/**
 * Returns the path of the database that a DATABASE_URL names without symbolic links, which may lead elsewhere later.
 *
 * @throws {StorageError} if it does not exist: only a migration creates one
 */
export function existingFile(url: string): string {
  const file = databaseFile(url)
  let target: string
  try {
    target = realpathSync.native(file)
  } catch (error) {
    if (!/^(ENOENT|ENOTDIR)$/.test((error as NodeJS.ErrnoException).code ?? '')) throw translate(error, file)
    throw new StorageError(`${file} does not exist: run "plant-store migrate" to create it, or check DATABASE_URL`)
  }
  if (target === target.trim()) return target
  throw new StorageError(`${file} leads to a file whose name ends in white space: rename that file`)
}

/**
 * Returns whether a path in a folder that exists, however it is written, names a database file or one that it needs.
 *
 * @param file the database, without symbolic links
 */
export function belongsTo(file: string, name: string): boolean {
  const owned = SUFFIXES.map((suffix) => path.basename(file) + suffix)
  return owned.includes(path.basename(name)) && isSameFolder(path.dirname(file), path.dirname(name))
}

/** Compares what two paths lead to: a symbolic link and a second mount have paths of their own. */
function isSameFolder(one: string, other: string): boolean {
  const [a, b] = [statSync(one, { bigint: true }), statSync(other, { bigint: true })]
  return a.dev === b.dev && a.ino === b.ino
}

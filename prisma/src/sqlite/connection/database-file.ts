import path from 'node:path'
import { baseFolder, DEFAULT_DATABASE_URL } from '../../base-folder.ts'
import { DatabaseError } from '../../database-error.ts'

/**
 * Returns the absolute path of the file that a DATABASE_URL names: `file:./data/x.db`, relative to `root`, or
 * `file:/srv/x.db`, also written `file:///srv/x.db`. As everywhere in Prisma, the path is not percent-encoded.
 *
 * @throws {DatabaseError} if it names no file
 */
export function databaseFile(value: string, root: string = baseFolder): string {
  const written = value.replace(/^file:/, '')
  const reason = whyNotAFile(value, written)
  if (reason) throw new DatabaseError(`DATABASE_URL ${reason}; write for example ${DEFAULT_DATABASE_URL}`)
  // On Windows: file:///C:/plants.db
  return path.resolve(root, written.replace(/^\/+(?=[A-Za-z]:[\\/])/, ''))
}

function whyNotAFile(value: string, written: string): string | undefined {
  if (value.trim() === '') return 'is empty'
  if (!value.startsWith('file:')) return 'does not start with "file:" or "postgresql:"'
  if (/(^|[\\/])\s*\.*$/.test(written)) return 'does not name a file'
  if (written.includes(':memory:')) return 'names a database in memory, which is lost when the server stops'
  if (/[?#\0]/.test(written)) return 'contains "?", "#" or NUL: parameters are not supported'
  if (/^\/\/[^/]/.test(written)) return 'names another host: write file:/path or file:///path'
  return undefined
}

import { statfsSync } from 'node:fs'
import path from 'node:path'
import { StorageError } from '../engine.ts'

/** What file systems are called whose files several machines may use, by the numbers that Linux gives them. */
const SHARED: ReadonlyMap<number, string> = new Map([
  [0x6969, 'NFS'],
  [0x517b, 'SMB'],
  [0xfe534d42, 'SMB'],
  [0xff534d42, 'SMB'],
  [0x01021997, '9p'],
])
/** Also virtiofs, and many that are local. */
const FUSE = 0x65735546

/**
 * Requires a file system on which machines share no files, since SQLite damages its log where they do not share memory
 * too: without an error.
 *
 * @param file without symbolic links
 * @returns what an operator should check, in a sentence; undefined: nothing
 * @throws {StorageError} that names the file system
 */
export function checkFileSystem(file: string): string | undefined {
  const { type } = statfsSync(path.dirname(file))
  const name = SHARED.get(type)
  const advice = 'put it on a local disk, or a volume of the container engine, or set DATABASE_URL to PostgreSQL'
  if (name !== undefined) {
    throw new StorageError(`${file} is on ${name}, where SQLite can damage it without an error: ${advice}`)
  }
  if (type !== FUSE) return undefined
  return `${file} is on FUSE: if other machines, such as the host of this container, use it too, ${advice}`
}

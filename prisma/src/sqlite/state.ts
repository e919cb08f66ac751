import { randomUUID } from 'node:crypto'
import { lstatSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { stat, statfs } from 'node:fs/promises'
import type { DatabaseState } from '../database.ts'
import { RECORD_SUFFIX } from './address.ts'

/** Reads what an operator watches of a database file. */
export async function readState(file: string): Promise<DatabaseState> {
  const readings = [sizeOf(`${file}-wal`), readFreeSpace(file), readLastBackup(file)]
  const [logSize, freeSpace, lastBackup] = await Promise.all(readings.map((reading) => reading.catch(() => undefined)))
  return { logSize, freeSpace, lastBackup }
}

async function sizeOf(file: string): Promise<number> {
  return (await stat(file)).size
}

/** Reads how much this user may still write to the disk of a file, in bytes. */
export async function readFreeSpace(file: string): Promise<number> {
  const { bavail, bsize } = await statfs(file)
  return bavail * bsize
}

/**
 * Records that a backup of a database file has just succeeded, for the servers of the file: the time of an empty file next
 * to it. It needs no room in a full disk, no lock and no table, and a restored copy has none.
 *
 * @returns whether it could be recorded
 */
export function recordBackup(file: string): boolean {
  const record = file + RECORD_SUFFIX
  const draft = `${record}.${randomUUID()}.new`
  try {
    // A file with content is not a record: replacing it would destroy someone's data.
    if ((lstatSync(record, { throwIfNoEntry: false })?.size ?? 0) > 0) return false
    writeFileSync(draft, '')
    // Another user may own the last record: it is replaced, not written.
    renameSync(draft, record)
    return true
  } catch {
    rmSync(draft, { force: true })
    return false
  }
}

/** Reads when the last backup of a database file succeeded, in seconds since 1970; 0: there was none. */
async function readLastBackup(file: string): Promise<number> {
  try {
    return (await stat(file + RECORD_SUFFIX)).mtimeMs / 1_000
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    // Fails where the database itself is gone: then nothing is known of its backups.
    await stat(file)
    return 0
  }
}

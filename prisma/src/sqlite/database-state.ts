import { stat, statfs } from 'node:fs/promises'
import type { DatabaseState } from '../database.ts'
import { readLastBackup } from './last-backup.ts'

/** Reads what an operator watches of a database file. */
export async function readState(file: string): Promise<DatabaseState> {
  const [size, logSize, freeSpace, lastBackup] = await Promise.all([
    unlessFailing(sizeOf(file)),
    unlessFailing(sizeOf(`${file}-wal`)),
    unlessFailing(freeSpaceFor(file)),
    unlessFailing(readLastBackup(file)),
  ])
  return { size, logSize, freeSpace, lastBackup, archiveFailures: undefined }
}

async function sizeOf(file: string): Promise<number> {
  return (await stat(file)).size
}

async function freeSpaceFor(file: string): Promise<number> {
  const { bavail, bsize } = await statfs(file)
  return bavail * bsize
}

function unlessFailing<Value>(reading: Promise<Value>): Promise<Value | undefined> {
  return reading.catch(() => undefined)
}

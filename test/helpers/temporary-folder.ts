import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterFile } from './after-file.ts'

/** Makes an empty folder, which is removed after the last test of the file. */
export function temporaryFolder(parent = tmpdir()): string {
  const folder = mkdtempSync(path.join(parent, 'plant-store-'))
  afterFile(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** Names a database file that does not exist yet, in a folder of its own. */
export function temporaryDatabase(name = 'plants.db'): { file: string; url: string } {
  const file = path.join(temporaryFolder(), name)
  return { file, url: `file:${file}` }
}

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll } from 'vitest'

/** Installed packages are a hundred thousand files, on a busy disk. */
const REMOVE_TIMEOUT = 300_000

const folders: string[] = []
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
}, REMOVE_TIMEOUT)

/** Makes an empty folder, which is removed after the last test of the file. */
export function temporaryFolder(parent = tmpdir()): string {
  const folder = mkdtempSync(path.join(parent, 'plant-store-'))
  folders.push(folder)
  return folder
}

/** Names a database file that does not exist yet, in a folder of its own. */
export function temporaryDatabase(): { file: string; url: string } {
  const file = path.join(temporaryFolder(), 'plants.db')
  return { file, url: `file:${file}` }
}

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, afterEach, vi } from 'vitest'

/** Installed packages are a hundred thousand files, on a busy disk. */
const TIMEOUT = 300_000

const cleanUps: (() => unknown)[] = []

/** Runs a function after the last test of the file that is running, after those that were added later. */
export function afterFile(cleanUp: () => unknown): void {
  cleanUps.push(cleanUp)
}

/** Registers the clean-up of a test file. A helper must not do that as it is loaded, which may be once for many files. */
export function registerCleanUp(): void {
  afterEach(() => void vi.unstubAllEnvs())
  afterAll(async () => {
    for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp()
  }, TIMEOUT)
}

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

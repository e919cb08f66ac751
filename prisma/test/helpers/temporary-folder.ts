import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { onTestFinished } from 'vitest'

/** An empty folder that goes when the test ends. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'plant-store-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** A database in a folder of its own, not made yet. */
export function temporaryDatabase(): { file: string; url: string } {
  const file = path.join(temporaryFolder(), 'plants.db')
  return { file, url: `file:${file}` }
}

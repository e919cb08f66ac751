import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { migrateDatabase } from '../../src/migrate-database.ts'

let bytes: Promise<Buffer> | undefined

/** Writes an empty database that is up to date: much faster than to migrate one for every test. */
export async function writeNewDatabase(file: string): Promise<void> {
  bytes ??= migrateOnce()
  await writeFile(file, await bytes, { mode: 0o600 })
}

async function migrateOnce(): Promise<Buffer> {
  const folder = await mkdtemp(path.join(tmpdir(), 'plant-store-'))
  try {
    const file = path.join(folder, 'plants.db')
    await migrateDatabase(`file:${file}`)
    return await readFile(file)
  } finally {
    await rm(folder, { recursive: true })
  }
}

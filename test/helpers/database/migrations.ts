import { cpSync, mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { temporaryFolder } from '../temporary-folder.ts'

const migrationsFolders = {
  sqlite: fileURLToPath(new URL('../../../prisma/migrations', import.meta.url)),
  postgresql: fileURLToPath(new URL('../../../prisma/postgresql/migrations', import.meta.url)),
}

/** Makes a folder with an engine's real migrations followed by these: SQL by name. */
export function migrationsWith(
  further: Record<string, string>,
  engine: keyof typeof migrationsFolders = 'sqlite',
): string {
  const folder = temporaryFolder()
  cpSync(migrationsFolders[engine], folder, { recursive: true })
  addMigrations(folder, further)
  return folder
}

/** Makes a folder with only these migrations: SQL by name. */
export function onlyMigrations(scripts: Record<string, string>): string {
  const folder = temporaryFolder()
  addMigrations(folder, scripts)
  return folder
}

function addMigrations(folder: string, scripts: Record<string, string>): void {
  for (const [name, script] of Object.entries(scripts)) {
    mkdirSync(path.join(folder, name))
    writeFileSync(path.join(folder, name, 'migration.sql'), script)
  }
}

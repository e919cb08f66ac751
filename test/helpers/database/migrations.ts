import { cpSync, mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { temporaryFolder } from '../temporary.ts'

const migrationsFolders = {
  sqlite: fileURLToPath(new URL('../../../prisma/migrations', import.meta.url)),
  postgresql: fileURLToPath(new URL('../../../prisma/postgresql/migrations', import.meta.url)),
}

/** Makes a folder with an engine's real migrations, or none, followed by these: SQL by name. */
export function migrationsWith(
  further: Record<string, string>,
  engine: keyof typeof migrationsFolders | 'none' = 'sqlite',
): string {
  const folder = temporaryFolder()
  if (engine !== 'none') cpSync(migrationsFolders[engine], folder, { recursive: true })
  for (const [name, script] of Object.entries(further)) {
    mkdirSync(path.join(folder, name))
    writeFileSync(path.join(folder, name, 'migration.sql'), script)
  }
  return folder
}

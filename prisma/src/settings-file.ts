import { existsSync } from 'node:fs'
import path from 'node:path'
import { baseFolder } from './base-folder.ts'

/** Loads the file `.env` of the repository root, or of the current folder of an installed package. Variables that are already set win. */
export function loadSettingsFile(): void {
  const file = path.join(baseFolder, '.env')
  if (existsSync(file)) process.loadEnvFile(file)
}

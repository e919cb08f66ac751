import { existsSync } from 'node:fs'
import path from 'node:path'
import { repositoryRoot } from './repository.ts'

/** Loads the file `.env` at the repository root, if there is one. Variables that are already set win. */
export function loadSettingsFile(): void {
  const file = path.join(repositoryRoot, '.env')
  if (existsSync(file)) process.loadEnvFile(file)
}

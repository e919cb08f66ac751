import { existsSync } from 'node:fs'
import path from 'node:path'
import { repositoryRoot } from './database-url.ts'

/** Reads the file `.env` at the repository root into the environment, if there is one. What is set already wins. */
export function loadSettingsFile(): void {
  const file = path.join(repositoryRoot, '.env')
  if (existsSync(file)) process.loadEnvFile(file)
}

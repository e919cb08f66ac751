import { readFileSync } from 'node:fs'
import { loadSettingsFile, runsFromRepository } from '@plant-store/prisma'
import { settingNames } from './settings.ts'

/** How the command line is called here: from a checkout, a package of npm, or a release, which knows its settings. */
export const ownCommand = findCommand()

/**
 * Returns the environment with the settings of the file `.env`, except in a release: its settings are in the environment, and
 * a file of the current folder, which may be anyone's, could run code as the user of the service.
 */
export function loadSettings(): NodeJS.ProcessEnv {
  if (ownCommand !== 'plant-store') loadSettingsFile(settingNames)
  return process.env
}

/** Reads the version of the server from its package. */
export function readVersion(): string {
  return JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')).version
}

function findCommand(): 'npm run --silent plant-store --' | 'npx --no plant-store' | 'plant-store' {
  if (runsFromRepository) return 'npm run --silent plant-store --'
  // "--no" installs nothing: in another folder, npx would run any package of this name.
  return import.meta.url.includes('/node_modules/') ? 'npx --no plant-store' : 'plant-store'
}

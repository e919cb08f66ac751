import { readFileSync } from 'node:fs'
import { runsFromRepository } from '@plant-store/prisma'

/** How the command line is called here: from a checkout, a package of npm, or a release, which knows its settings. */
export const ownCommand = findCommand()

/** Reads the version of the server from its package. */
export function readVersion(): string {
  return JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')).version
}

function findCommand(): 'npm run --silent plant-store --' | 'npx plant-store' | 'plant-store' {
  if (runsFromRepository) return 'npm run --silent plant-store --'
  return import.meta.url.includes('/node_modules/') ? 'npx plant-store' : 'plant-store'
}

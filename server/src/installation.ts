/** What this installation says of itself. */
import { readFileSync } from 'node:fs'
import { runsFromRepository } from '@plant-store/prisma'

/** How the command line is called here: from a checkout, a package of npm, or a release, which knows its settings. */
export const ownCommand = findCommand()

function findCommand(): 'npm run --silent plant-store --' | 'npx --no plant-store' | 'plant-store' {
  if (runsFromRepository) return 'npm run --silent plant-store --'
  // "--no" installs nothing: in another folder, npx would run any package of this name.
  return import.meta.url.includes('/node_modules/') ? 'npx --no plant-store' : 'plant-store'
}

/** The version of the server, from its package. */
export const ownVersion: string = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')).version

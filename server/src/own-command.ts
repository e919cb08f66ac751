import { runsFromRepository } from '@plant-store/prisma'

/**
 * How the command line is called where this server is installed: in a checkout of the repository, as a package of npm, or
 * as a release, whose command has the settings of the server.
 */
export const ownCommand = findCommand()

function findCommand(): 'npm run --silent plant-store --' | 'npx plant-store' | 'plant-store' {
  if (runsFromRepository) return 'npm run --silent plant-store --'
  return import.meta.url.includes('/node_modules/') ? 'npx plant-store' : 'plant-store'
}

// Runs pnpm, on a machine without it too: node scripts/pnpm.mjs PARAMETERS
import { pathToFileURL } from 'node:url'
import { installLocked } from './tools.mjs'

// pnpm's entry for Corepack needs no install script. It runs the binary of the lockfile; on a system without one there, it
// downloads the binary of its own version and checks npm's signature.
await import(pathToFileURL(`${installLocked('scripts/pnpm', 'pnpm')}/node_modules/pnpm/bin/pnpm.mjs`).href)

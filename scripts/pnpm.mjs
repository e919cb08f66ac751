// Runs pnpm, on a machine without it too: node scripts/pnpm.mjs PARAMETERS
import { pathToFileURL } from 'node:url'
import { installLocked, root } from './run.mjs'

// pnpm's entry for Corepack needs no install script. It runs the binary of the lockfile; on a system without one there, it
// downloads the binary of its own version and checks npm's signature.
const folder = installLocked(`${root}scripts/pnpm`, `${root}node_modules/.cache/pnpm`)
await import(pathToFileURL(`${folder}/node_modules/pnpm/bin/pnpm.mjs`).href)

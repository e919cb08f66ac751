// Runs pnpm, on a machine without it too: node scripts/pnpm.mjs PARAMETERS
import { pathToFileURL } from 'node:url'
import { installLocked, root } from './run.mjs'

// Its entry for Corepack, which needs no install script. It runs the binary of the lockfile; on a system that the lockfile
// has none for, it downloads that of its own version, and checks the signature of npm.
const folder = installLocked(`${root}scripts/pnpm`, `${root}node_modules/.cache/pnpm`)
await import(pathToFileURL(`${folder}/node_modules/pnpm/bin/pnpm.mjs`).href)

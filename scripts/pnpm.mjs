// Runs pnpm, on a machine without it too: node scripts/pnpm.mjs PARAMETERS
import { pathToFileURL } from 'node:url'
import { findPnpm } from './tools.mjs'

await import(pathToFileURL(findPnpm()).href)

import { existsSync } from 'node:fs'
import path from 'node:path'

// The same folder from `src/` and from the compiled `dist/`.
const parent = path.join(import.meta.dirname, '../../')

/** Whether this runs from a checkout of the repository, and not from an installed package. */
export const runsFromRepository = existsSync(path.join(parent, 'pnpm-workspace.yaml'))

/**
 * What relative paths are relative to, and where `.env` is: the repository root, or the current folder of an installed
 * package.
 */
export const baseFolder = runsFromRepository ? parent : process.cwd()

/** Runs before each test file. */
import { enableCompileCache } from 'node:module'
import { fileURLToPath } from 'node:url'
import { registerCleanUp } from './temporary.ts'

// For the processes of databases, which start from the sources hundreds of times.
enableCompileCache(fileURLToPath(new URL('../../node_modules/.cache/compiled', import.meta.url)))
registerCleanUp()

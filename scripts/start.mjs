// Sets up the repository and serves. The server runs in this process, so that signals reach it.
import { setUp } from './setup.mjs'

setUp()
process.argv.splice(2, 0, 'serve')
await import('../server/dist/main.js')

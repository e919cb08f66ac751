// A process that migrates a database and prints what became of it as one line of JSON.
import { migrateDatabase } from '../../src/sqlite/migrate-database.ts'

// Only now, when everything is loaded: somebody else may not be allowed to read where this file is.
const user = Number(process.env['RUN_AS_USER'])
if (user) {
  process.setgid?.(user)
  process.setuid?.(user)
}

const [url = '', folder] = process.argv.slice(2)
const outcome = await migrateDatabase(url, folder).catch((error: Error) => ({
  name: error.name,
  message: error.message,
}))
// The engine leaves this global when it is loaded.
console.log(JSON.stringify({ ...outcome, engineLoaded: 'PRISMA_WASM_PANIC_REGISTRY' in globalThis }))

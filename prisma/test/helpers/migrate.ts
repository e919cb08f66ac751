// A process that migrates a database and prints what became of it as one line of JSON.
import { migrateDatabase } from '../../src/migrate-database.ts'

const [url = '', folder] = process.argv.slice(2)
const outcome = await migrateDatabase(url, folder).catch((error: Error) => ({
  name: error.name,
  message: error.message,
}))
// The engine leaves this global when it is loaded.
console.log(JSON.stringify({ ...outcome, engineLoaded: 'PRISMA_WASM_PANIC_REGISTRY' in globalThis }))

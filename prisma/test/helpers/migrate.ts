// Migrates a database in a process of its own and prints the result as one line of JSON.
import { isPostgresqlUrl } from '../../src/postgresql/connection/server-address.ts'

const [url = '', folder] = process.argv.slice(2)
const { migrateDatabase } = isPostgresqlUrl(url)
  ? await import('../../src/postgresql/migrate-database.ts')
  : await import('../../src/sqlite/migrate-database.ts')

// Only now that everything is loaded, since that user may not be allowed to read this file.
const user = Number(process.env['RUN_AS_USER'])
if (user) {
  process.setgid?.(user)
  process.setuid?.(user)
}

const outcome = await migrateDatabase(url, folder).catch((error: Error) => ({
  name: error.name,
  message: error.message,
}))
// Loading the engine sets this global.
console.log(JSON.stringify({ ...outcome, engineLoaded: 'PRISMA_WASM_PANIC_REGISTRY' in globalThis }))

import { existsSync } from 'node:fs'
import path from 'node:path'
import { defineConfig } from 'prisma/config'
import { argumentUrl } from './prisma-cli/schema-engine-database.ts'
import { databaseUrl, isPostgresqlUrl } from './src/address.ts'

// Prisma would download its schema engine from a host that many networks cannot reach. With this executable it
// downloads nothing. Windows cannot run it: `generate`, `validate`, `format` and `studio` work there, `migrate` needs a
// Unix shell such as WSL.
process.env['PRISMA_SCHEMA_ENGINE_BINARY'] = path.join(import.meta.dirname, 'prisma-cli', 'schema-engine.js')
// No check for updates and no usage report to Prisma's servers.
process.env['CHECKPOINT_DISABLE'] = '1'

const [, , command = ''] = process.argv
// Commands that only read the schema ignore invalid settings: the server reports them, not its build.
const needsDatabase = !['format', 'generate', 'validate', 'version'].includes(command)
const settingsFile = path.join(import.meta.dirname, '../.env')
if (existsSync(settingsFile)) process.loadEnvFile(settingsFile)
const DATABASE_URL = process.env['DATABASE_URL']?.trim() || undefined
const folder = DATABASE_URL !== undefined && isPostgresqlUrl(DATABASE_URL) ? 'postgresql/' : ''

export default defineConfig({
  schema: `${folder}schema.prisma`,
  migrations: { path: `${folder}migrations` },
  datasource: { url: await readUrl() },
})

async function readUrl(): Promise<string> {
  if (!needsDatabase) return argumentUrl(undefined)
  if (command !== 'studio') return argumentUrl(DATABASE_URL)
  const { prepareStudio, protectStudio } = await import('./prisma-cli/studio.ts')
  protectStudio()
  // On a machine without a display, Studio would start a browser for terminals.
  process.env['BROWSER'] ??= 'none'
  try {
    return await prepareStudio(databaseUrl(DATABASE_URL))
  } catch (error) {
    console.error((error as Error).message)
    process.exit(1)
  }
}

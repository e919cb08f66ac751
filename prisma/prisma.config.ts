import path from 'node:path'
import { defineConfig } from 'prisma/config'
import { argumentUrl } from './prisma-cli/schema-engine-database.ts'
import { loadSettingsFile } from './src/base-folder.ts'
import { databaseUrl } from './src/engines.ts'
import { isPostgresqlUrl } from './src/postgresql/connection/server-address.ts'

loadSettingsFile()

// Prisma would download its schema engine from a host that many networks cannot reach. With this executable it downloads
// nothing. Windows cannot run it: `generate`, `validate`, `format` and `studio` work there, `migrate` needs a Unix shell
// such as WSL.
process.env['PRISMA_SCHEMA_ENGINE_BINARY'] = path.join(import.meta.dirname, 'prisma-cli', 'schema-engine.js')
// No check for updates and no usage report to Prisma's servers.
process.env['CHECKPOINT_DISABLE'] = '1'

const [, , command = ''] = process.argv
const { DATABASE_URL } = process.env
const folder = DATABASE_URL !== undefined && isPostgresqlUrl(DATABASE_URL) ? 'postgresql/' : ''

export default defineConfig({
  schema: `${folder}schema.prisma`,
  migrations: { path: `${folder}migrations` },
  datasource: { url: await readUrl() },
})

async function readUrl(): Promise<string> {
  // Commands that only read the schema ignore an invalid DATABASE_URL: the server reports it, not its build.
  if (['format', 'generate', 'validate', 'version'].includes(command)) return argumentUrl(undefined)
  if (command !== 'studio') return argumentUrl(DATABASE_URL)
  const { hasDisplay, openStudioOnPlants, prepareStudio } = await import('./prisma-cli/studio.ts')
  openStudioOnPlants()
  if (!hasDisplay(process.env)) process.env['BROWSER'] ??= 'none'
  try {
    return await prepareStudio(databaseUrl(DATABASE_URL))
  } catch (error) {
    console.error((error as Error).message)
    process.exit(1)
  }
}

import { existsSync } from 'node:fs'
import path from 'node:path'
import { defineConfig } from 'prisma/config'
import { databaseUrl } from './src/database-url.ts'
import { loadSettingsFile } from './src/settings-file.ts'
import { databaseFile } from './src/sqlite/database-file.ts'

loadSettingsFile()

// Prisma would download its schema engine from a host that many networks cannot reach. With this executable it downloads
// nothing. Windows cannot run it: `generate`, `validate`, `format` and `studio` work there, `migrate` needs a Unix shell
// such as WSL.
process.env['PRISMA_SCHEMA_ENGINE_BINARY'] = path.join(import.meta.dirname, 'command-line', 'schema-engine.js')
// No check for updates and no usage report to Prisma's servers.
process.env['CHECKPOINT_DISABLE'] = '1'

const [, , command = ''] = process.argv
// Commands that only read the schema ignore an invalid DATABASE_URL: the server reports it, not its build.
const needsDatabase = !['format', 'generate', 'validate', 'version'].includes(command)
const url = needsDatabase ? databaseUrl(process.env['DATABASE_URL']) : databaseUrl()

// Studio would create an empty file and show no tables.
if (command === 'studio' && !existsSync(databaseFile(url))) {
  console.error(
    `${databaseFile(url)} does not exist yet: start the server once, or run \`npm run prisma -- migrate deploy\`.`,
  )
  process.exit(1)
}

export default defineConfig({
  schema: 'schema.prisma',
  migrations: { path: 'migrations' },
  datasource: { url },
})

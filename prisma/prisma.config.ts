import { existsSync } from 'node:fs'
import path from 'node:path'
import { defineConfig } from 'prisma/config'
import { databaseFile, databaseUrl, repositoryRoot } from './src/database-url.ts'

const settings = path.join(repositoryRoot, '.env')
// What is set in the environment already wins.
if (existsSync(settings)) process.loadEnvFile(settings)

// Prisma would download its schema engine from a host that many networks do not reach. Pointed at this executable
// it downloads nothing. Windows cannot start it: there `generate`, `validate`, `format` and `studio` work, which
// never run it; `migrate` needs a Unix shell such as WSL.
process.env['PRISMA_SCHEMA_ENGINE_BINARY'] = path.join(import.meta.dirname, 'command-line', 'schema-engine.js')
// No question for updates and no usage report to Prisma's servers.
process.env['CHECKPOINT_DISABLE'] = '1'

const url = databaseUrl(process.env['DATABASE_URL'])

// Studio would create an empty file and then show no tables.
if (process.argv[2] === 'studio' && !existsSync(databaseFile(url))) {
  console.error(
    `There is no database at ${databaseFile(url)} yet: start the server once, or run pnpm prisma migrate deploy.`,
  )
  process.exit(1)
}

export default defineConfig({
  schema: 'schema.prisma',
  migrations: { path: 'migrations' },
  datasource: { url },
})

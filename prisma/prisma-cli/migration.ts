/**
 * Writes a migration of the same name for each engine, with what has changed in schema.prisma since the last one, and the
 * schema of PostgreSQL. It needs no database.
 *
 * Usage: npm run migration -- NAME
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { ColumnTypeEnum, type SqlDriverAdapter } from '@prisma/driver-adapter-utils'
import { readMigrations } from '../src/migrations.ts'
import { open } from './sqlite.ts'
import { createSchemaEngine, type DiffTarget, type SchemaContainer } from './webassembly-engine.ts'

/** That of the package. */
const folder = path.join(import.meta.dirname, '..')

/** Derives the schema of PostgreSQL: the same models, with the types that its columns have. */
export function deriveSchema(sqlite: string): string {
  return sqlite
    .replace(/^.*/, '// Derived from ../schema.prisma: `npm run migration` writes it.')
    .replace('"src/generated/sqlite"', '"../src/generated/postgresql"')
    .replace('provider = "sqlite"', 'provider = "postgresql"')
    .replace(/^.*\/\/ SQLite: .*\n/gm, '')
    .replace(/^( +\w+ +)Int\b/gm, '$1BigInt')
    .replace(/ DateTime\b.*$/gm, '$& @db.Timestamptz(3)')
}

/** Writes the schema of PostgreSQL, and, unless the name is empty, the migrations. Returns the files of these. */
async function writeMigrations(name: string): Promise<string[]> {
  const [sqlite, before] = ['schema.prisma', 'postgresql/schema.prisma'].map((file) => {
    return { path: path.join(folder, file), content: readFileSync(path.join(folder, file), 'utf8') }
  }) as [SchemaContainer, SchemaContainer]
  const after = { ...before, content: deriveSchema(sqlite.content) }
  const landed = await readMigrations(path.join(folder, 'migrations'))
  const database = open(':memory:')
  for (const { script } of landed) await database.executeScript(script)
  const scripts = [
    ['migrations', await diff(database, { tag: 'schemaDatasource', files: [sqlite], configDir: folder }, sqlite)],
    [
      'postgresql/migrations',
      await diff({ ...database, ...POSTGRESQL }, { tag: 'schemaDatamodel', files: [before] }, after),
    ],
  ] as const
  const isChanged = scripts.some(([, script]) => script !== '-- This is an empty migration.\n')
  if (!/^\w+$/.test(name) && (name || isChanged)) throw new Error('Name the migration: npm run migration -- add_height')
  writeFileSync(after.path, after.content)
  if (!name) return []
  // Above those that another clock has named.
  const last = Number(landed.at(-1)?.name.slice(0, 14))
  const time = Math.max(Number(new Date().toISOString().replace(/\D/g, '').slice(0, 14)), last + 1)
  return scripts.map(([migrations, script]) => {
    const own = path.join(migrations, `${time}_${name}`)
    mkdirSync(path.join(folder, own))
    writeFileSync(path.join(folder, own, 'migration.sql'), script)
    return path.join('prisma', own, 'migration.sql')
  })
}

/** Returns what makes one schema into another as SQL. */
async function diff(connection: SqlDriverAdapter, from: DiffTarget, to: SchemaContainer): Promise<string> {
  const connect = async () => connection
  const engine = await createSchemaEngine({ ...connection, connect, connectToShadowDb: connect })
  const target: DiffTarget = { tag: 'schemaDatamodel', files: [to] }
  const filters = { externalTables: [], externalEnums: [] }
  const { stdout } = await engine.diff({ from, to: target, script: true, exitCode: null, filters })
  return `${stdout?.trimEnd()}\n`
}

/** What the engine asks PostgreSQL before it compares two schemas: whether its own exists, and the version. */
const POSTGRESQL: Pick<SqlDriverAdapter, 'provider' | 'queryRaw' | 'getConnectionInfo'> = {
  provider: 'postgres',
  queryRaw: async () => ({
    columnNames: ['exists', 'version', 'number'],
    columnTypes: [ColumnTypeEnum.Boolean, ColumnTypeEnum.Text, ColumnTypeEnum.Int32],
    rows: [[true, 'PostgreSQL 15', 150_000]],
  }),
  getConnectionInfo: () => ({ schemaName: 'public', supportsRelationJoins: false }),
}

if (import.meta.main) {
  const files = await writeMigrations(process.argv[2] ?? '').catch(({ message }: Error) => {
    console.error(message)
    process.exit(2)
  })
  console.log([...files, 'Read the migrations, and run npm run generate.'].join('\n'))
}

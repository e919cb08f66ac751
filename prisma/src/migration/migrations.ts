import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import path from 'node:path'
import type { SqlQueryable } from '@prisma/driver-adapter-utils'
import { DatabaseError } from '../database-error.ts'
import { select } from '../shared/sql.ts'

/** One folder of `migrations/`. */
export interface Migration {
  readonly name: string
  readonly script: string
}

/** Where the migrations of each engine are: the same folder from `src/` and from the compiled `dist/`. */
export const migrationsFolders = {
  sqlite: path.join(import.meta.dirname, '../../migrations'),
  postgresql: path.join(import.meta.dirname, '../../postgresql/migrations'),
}

/** Reads the migrations in the order in which they are applied: by name, which begins with the time. */
export async function readMigrations(folder: string): Promise<Migration[]> {
  const entries = await readdir(folder, { withFileTypes: true })
  const names = entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name)
  return Promise.all(
    names
      .sort()
      .map(async (name) => ({ name, script: await readFile(path.join(folder, name, 'migration.sql'), 'utf8') })),
  )
}

/** The tables of a database, as `name`. */
const TABLES = {
  sqlite: `SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT GLOB 'sqlite_*'`,
  postgresql: 'SELECT tablename AS name FROM pg_tables WHERE schemaname = current_schema()',
}

/**
 * Checks that a database has all migrations.
 *
 * @param pending what {@link pendingMigrations} has found
 * @throws {DatabaseError} if one is missing
 */
export function rejectPending(database: string, pending: readonly Migration[]): void {
  if (pending.length === 0) return
  const names = pending.map(({ name }) => name).join(', ')
  throw new DatabaseError(`${database} needs the migrations ${names}: run "plant-store migrate"`)
}

/**
 * Finds the migrations that the database does not have yet. With two plain queries, so that a startup with nothing
 * pending does not load the schema engine.
 *
 * @param database names it in messages
 * @throws {DatabaseError} if the database's history does not match the migrations
 */
export async function pendingMigrations(
  connection: SqlQueryable,
  database: string,
  migrations: readonly Migration[],
): Promise<Migration[]> {
  const tables = await select(connection, connection.provider === 'sqlite' ? TABLES.sqlite : TABLES.postgresql)
  if (tables.length === 0) return [...migrations]
  if (!tables.some(({ name }) => name === '_prisma_migrations')) {
    throw new DatabaseError(
      `${database} belongs to another program: it has tables, but not the plant store's; point DATABASE_URL at another database`,
    )
  }

  const missing = new Map(migrations.map((migration) => [migration.name, migration]))
  const applied = await select(
    connection,
    'SELECT migration_name AS name, checksum, finished_at FROM _prisma_migrations WHERE rolled_back_at IS NULL',
  )
  for (const { name, checksum, finished_at: finishedAt } of applied) {
    const migration = missing.get(String(name))
    if (finishedAt === null) {
      throw new DatabaseError(
        `${database} is incomplete because the migration ${name} was interrupted: restore a backup, or fix it and run \`npm run prisma -- migrate resolve\` in the repository`,
      )
    }
    if (!migration) {
      throw new DatabaseError(
        `${database} was written by a newer version, which added the migration ${name}: start that version, or restore a backup`,
      )
    }
    if (createHash('sha256').update(migration.script).digest('hex') !== checksum) {
      throw new DatabaseError(
        `${database} was migrated with a different version of ${name}: restore the original migration.sql`,
      )
    }
    missing.delete(migration.name)
  }
  return [...missing.values()]
}

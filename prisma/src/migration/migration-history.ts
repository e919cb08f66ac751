import type { SqlQueryable } from '@prisma/driver-adapter-utils'
import { DatabaseError } from '../database-error.ts'
import { select } from '../sql.ts'
import { hasChecksum, type Migration } from './migrations.ts'

/**
 * Finds the migrations that the database does not have yet. With two plain queries, so that a startup with nothing
 * pending does not load the schema engine.
 *
 * @throws {DatabaseError} if the database's history does not match the migrations
 */
export async function pendingMigrations(
  connection: SqlQueryable,
  file: string,
  migrations: readonly Migration[],
): Promise<Migration[]> {
  const tables = await select(
    connection,
    `SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT GLOB 'sqlite_*'`,
  )
  if (tables.length === 0) return [...migrations]
  if (!tables.some(({ name }) => name === '_prisma_migrations')) {
    throw new DatabaseError(
      `${file} belongs to another program: it has tables, but not the plant store's; point DATABASE_URL at another file`,
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
        `${file} is incomplete because the migration ${name} was interrupted: put a backup in its place, or fix it and run \`npm run prisma -- migrate resolve\``,
      )
    }
    if (!migration) {
      throw new DatabaseError(
        `${file} was written by a newer version, which added the migration ${name}: start that version, or put a backup in its place`,
      )
    }
    if (!hasChecksum(migration.script, String(checksum))) {
      throw new DatabaseError(
        `${file} was migrated with a different version of ${name}: restore the original migration.sql`,
      )
    }
    missing.delete(migration.name)
  }
  return [...missing.values()]
}

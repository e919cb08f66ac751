import { createHash, randomUUID } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import path from 'node:path'
import type { SqlQueryable } from '@prisma/driver-adapter-utils'
import { DatabaseError, errorReason } from '../database-error.ts'
import { type Connection, select } from './sql.ts'

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
  const read = async (name: string) => ({
    name,
    script: await readFile(path.join(folder, name, 'migration.sql'), 'utf8'),
  })
  return Promise.all(names.sort().map(read))
}

/** How to select the tables of a database, as `name`, and the type of times. */
const DIALECTS = {
  sqlite: {
    selectTables: `SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT GLOB 'sqlite_*'`,
    time: 'DATETIME',
  },
  postgres: {
    selectTables: 'SELECT tablename AS name FROM pg_tables WHERE schemaname = current_schema()',
    time: 'TIMESTAMPTZ',
  },
}
/** The table of applied migrations as Prisma creates it. */
const createHistory = (time: string) => `
  CREATE TABLE IF NOT EXISTS "_prisma_migrations" (
    id VARCHAR(36) PRIMARY KEY NOT NULL,
    checksum VARCHAR(64) NOT NULL,
    finished_at ${time},
    migration_name VARCHAR(255) NOT NULL,
    logs TEXT,
    rolled_back_at ${time},
    started_at ${time} NOT NULL DEFAULT CURRENT_TIMESTAMP,
    applied_steps_count INTEGER NOT NULL DEFAULT 0
  )`
const INSERT_APPLIED = `
  INSERT INTO "_prisma_migrations" ("id", "checksum", "migration_name", "started_at", "finished_at", "applied_steps_count")
  VALUES ($1, $2, $3, $4, $5, 1)`

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
 * Finds the migrations that the database does not have yet.
 *
 * @param database names it in messages
 * @throws {DatabaseError} if the database's history does not match the migrations
 */
export async function pendingMigrations(
  connection: SqlQueryable,
  database: string,
  migrations: readonly Migration[],
): Promise<Migration[]> {
  const tables = await select(connection, dialectOf(connection).selectTables)
  if (tables.length === 0) return [...migrations]
  if (!tables.some(({ name }) => name === '_prisma_migrations')) {
    throw new DatabaseError(
      `${database} belongs to another program: it has tables, but not the plant store's; point DATABASE_URL at another database`,
    )
  }

  const missing = new Map(migrations.map((migration) => [migration.name, migration]))
  const applied = await select(
    connection,
    `SELECT migration_name AS name, checksum, finished_at FROM _prisma_migrations WHERE rolled_back_at IS NULL
     ORDER BY migration_name`,
  )
  for (const { name, checksum, finished_at: finishedAt } of applied) {
    const migration = missing.get(String(name))
    if (finishedAt === null) {
      throw new DatabaseError(
        `${database} is incomplete because the migration ${name} was interrupted: restore a backup, or fix it and run \`npm run prisma -- migrate resolve\` in the repository`,
      )
    }
    if (!migration) throw new DatabaseError(explainUnknown(database, String(name), migrations))
    if (checksumOf(migration) !== checksum) {
      throw new DatabaseError(
        `${database} was migrated with another text of ${name}, which a released version never has: restore the original migration.sql, or point DATABASE_URL at a new database`,
      )
    }
    missing.delete(migration.name)
  }
  return [...missing.values()]
}

function explainUnknown(database: string, name: string, migrations: readonly Migration[]): string {
  const isNewer = name > (migrations.at(-1)?.name ?? '')
  return isNewer
    ? `${database} was written by a newer version, which added the migration ${name}: start that version, or restore a backup`
    : `${database} was written by an older version that was never released, with the migration ${name}, and cannot be migrated: start that version, or point DATABASE_URL at a new database`
}

/**
 * Applies the pending migrations on this connection, within its transaction, as `prisma migrate deploy` does.
 *
 * @param database names it in messages
 * @returns the names of the migrations that were applied
 * @throws {DatabaseError} if the history does not match, or a migration fails; its cause is the error of the engine
 */
export async function applyMigrations(
  connection: Connection,
  database: string,
  migrations: readonly Migration[],
): Promise<string[]> {
  // Another process may have been faster, of this version or a newer one.
  const pending = await pendingMigrations(connection, database, migrations)
  let step = ''
  try {
    if (pending.length === migrations.length) await connection.executeScript(createHistory(dialectOf(connection).time))
    for (const migration of pending) {
      const { name, script } = migration
      const startedAt = now()
      step = `the migration ${name} failed with: `
      await connection.executeScript(script)
      await connection.sql.execute(INSERT_APPLIED, randomUUID(), checksumOf(migration), name, startedAt, now())
    }
  } catch (cause) {
    const reason = `${step}${errorReason(cause)}`
    throw new DatabaseError(`${database} was not migrated and is unchanged: ${reason}`, { cause })
  }
  return pending.map(({ name }) => name)
}

function dialectOf({ provider }: SqlQueryable): (typeof DIALECTS)['sqlite'] {
  return provider === 'sqlite' ? DIALECTS.sqlite : DIALECTS.postgres
}

function checksumOf({ script }: Migration): string {
  return createHash('sha256').update(script).digest('hex')
}

/** Returns the time in the form in which Prisma stores it in SQLite. */
function now(): string {
  return new Date().toISOString().replace('Z', '+00:00')
}

import { hash, randomUUID } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import path from 'node:path'
import { loadEngine } from './address.ts'
import { type Engine, type OnStep, type Session, StorageError, type Transaction } from './engine.ts'
import { retry, TIMES } from './patience.ts'

/** One folder of `migrations/`. */
interface Migration {
  readonly name: string
  readonly script: string
}

/** Reads the migrations in the order in which they are applied: the name of each begins with its time. */
export async function readMigrations(folder: string): Promise<Migration[]> {
  const entries = await readdir(folder, { withFileTypes: true })
  const names = entries.filter((entry) => entry.isDirectory()).map(({ name }) => name)
  const read = (name: string) => readFile(path.join(folder, name, 'migration.sql'), 'utf8')
  return Promise.all(names.sort().map(async (name) => ({ name, script: await read(name) })))
}

/** A migration that a database has; one that is not finished was interrupted. */
type AppliedMigration = [name: string, checksum: string, isFinished: boolean | bigint]

const HISTORY = '_prisma_migrations'
/**
 * Tables of what replicates or hosts a database, such as Litestream's and Cloudflare's, and of PostGIS: no program is
 * known by them.
 */
const OF_TOOLS = /^(_|spatial_ref_sys$)/
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
const SELECT_APPLIED = `
  SELECT migration_name, checksum, finished_at IS NOT NULL
  FROM _prisma_migrations WHERE rolled_back_at IS NULL ORDER BY migration_name`
const INSERT_APPLIED = `
  INSERT INTO "_prisma_migrations" ("id", "checksum", "migration_name", "finished_at", "applied_steps_count")
  VALUES ($1, $2, $3, CURRENT_TIMESTAMP, 1)`

/**
 * Migrates a database to the newest schema, and creates a SQLite file that does not exist, in a folder that does. All
 * or nothing: if a migration fails, none is applied, and a new database stays empty. Processes that migrate the same
 * database at the same time wait for each other. The event loop stays free. With nothing pending it takes a few
 * milliseconds.
 *
 * @param url a DATABASE_URL, see `databaseUrl`
 * @param folder where the migrations are; default: those of the plant store
 * @param onStep is called if migrations are pending, before each but those of a new database, and where another process is
 *   migrating
 * @returns the names of the migrations that were applied
 * @throws {StorageError} if the database was written by a newer version, is another program's, or cannot be used
 */
export async function migrateDatabase(
  url: string,
  folder?: string,
  onStep: OnStep = () => {},
): Promise<{ applied: string[] }> {
  const engine = await loadEngine(url)
  const migrations = await readMigrations(folder ?? engine.migrationsFolder)
  await engine.create?.()
  const pending = await findPending(engine, migrations)
  if (pending.length === 0) return { applied: [] }
  const isNew = pending.length === migrations.length
  onStep(isNew ? 'creating the tables' : 'migrating the database; with many plants, this takes minutes')
  await using transaction = await engine.beginWriting(onStep)
  // Another process may have been faster, of this version or a newer one.
  const rest = await pendingMigrations(transaction, engine, migrations)
  if (rest.length === migrations.length) await transaction.executeScript(createHistory(engine.timeType))
  for (const [index, migration] of rest.entries()) {
    if (!isNew) onStep(`applying the migration ${migration.name}, ${index + 1} of ${rest.length}`)
    await apply(migration, transaction, engine.subject)
  }
  await transaction.commit()
  return { applied: rest.map(({ name }) => name) }
}

/**
 * Checks that a database exists and has the newest schema, and changes nothing.
 *
 * @param url a DATABASE_URL, see `databaseUrl`
 * @param folder where the migrations are; default: those of the plant store
 * @throws {StorageError} if it does not exist, needs a migration, or cannot be used
 */
export async function checkMigrated(url: string, folder?: string): Promise<void> {
  const engine = await loadEngine(url)
  const pending = await findPending(engine, await readMigrations(folder ?? engine.migrationsFolder))
  if (pending.length === 0) return
  const names = pending.map(({ name }) => name).join(', ')
  throw new StorageError(`${engine.subject} needs the migrations ${names}: run "plant-store migrate"`)
}

async function findPending(engine: Engine, migrations: readonly Migration[]): Promise<Migration[]> {
  const find = async () => {
    await using session = await engine.beginReading()
    return await pendingMigrations(session, engine, migrations)
  }
  return retry(find, TIMES.task)
}

/**
 * Finds the migrations that the database does not have yet.
 *
 * @throws {StorageError} if the database's history does not match the migrations
 */
async function pendingMigrations(
  session: Session,
  { subject, selectTables }: Engine,
  migrations: readonly Migration[],
): Promise<Migration[]> {
  const tables = (await session.query<[name: string]>(selectTables)).map(([name]) => name)
  const rejectOther = (has: string) => {
    const reason = `it has ${has}, but not the plant store's; point DATABASE_URL at another database`
    throw new StorageError(`${subject} belongs to another program: ${reason}`)
  }
  const applied = tables.includes(HISTORY) ? await session.query<AppliedMigration>(SELECT_APPLIED) : []
  // Also where it has the table of a program that has applied none yet, or has rolled them back.
  if (applied.length === 0) {
    const other = tables.find((name) => !OF_TOOLS.test(name))
    if (other !== undefined) rejectOther(`the table "${other}"`)
    return [...migrations]
  }

  const ours = new Map(migrations.map((migration) => [migration.name, migration]))
  if (!applied.some(([name]) => ours.has(name))) rejectOther('migrations')
  for (const each of applied) {
    const mismatch = findMismatch(each, ours.get(each[0]))
    if (mismatch) throw new StorageError(`${subject} ${mismatch}`)
  }
  // A name may be there twice: `pg_dump --data-only` into a migrated database.
  return migrations.filter((migration) => !applied.some(([name]) => name === migration.name))
}

/** Returns why a migration that a database has is not ours, and what to do; undefined: it is ours. */
function findMismatch([name, checksum, isFinished]: AppliedMigration, ours?: Migration): string | undefined {
  if (!isFinished) {
    return `is incomplete because the migration ${name} was interrupted: restore a backup, or fix it and run \`npm run prisma -- migrate resolve\` in the repository`
  }
  if (!ours) {
    return `was written by a newer version, or one that was never released, with the migration ${name}: start that version, or restore a backup`
  }
  if (hash('sha256', ours.script) === checksum) return undefined
  return `was migrated with another text of ${name}, which a released version never has: restore the original migration.sql, or point DATABASE_URL at a new database`
}

/** Applies a migration within a transaction, as `prisma migrate deploy` does. */
async function apply({ name, script }: Migration, transaction: Transaction, subject: string): Promise<void> {
  try {
    await transaction.executeScript(script)
    await transaction.query(INSERT_APPLIED, randomUUID(), hash('sha256', script), name)
  } catch (cause) {
    const ofDatabase = cause instanceof StorageError
    if (ofDatabase && cause.isTemporary) throw cause
    const { message } = ((ofDatabase && cause.cause) || cause) as Error
    const reason = `the migration ${name} failed with: ${message}`
    throw new StorageError(`${subject} was not migrated and is unchanged: ${reason}`, { cause })
  }
}

import { readdir } from 'node:fs/promises'
import path from 'node:path'
import { type Database, type OnProgress, type OpenOptions, StorageError } from './database.ts'
import type { Engine } from './engine.ts'
import { baseFolder, trimInvisible } from './environment.ts'
import { limitTime, REQUEST_PATIENCE, retry } from './patience.ts'
import { createPlants } from './plants.ts'
import { describeDatabase, isPostgresqlUrl, readAddress } from './postgresql/address.ts'
import { createPrisma, select } from './prisma-client.ts'
import { DEFAULT_DATABASE_URL, databaseFile } from './sqlite/address.ts'
import { createTokens, readSecret } from './tokens.ts'

/** How long a probe may take, in milliseconds. */
const PROBE_TIMEOUT = 2_500
/** The longest pause between two looks at a lock, in milliseconds: writers that release it only briefly are seen too. */
const PROBE_PAUSE = 5

/**
 * Checks a DATABASE_URL and returns it in the one form that the Prisma command line, Prisma Studio and this package all
 * support: `file:///absolute/path` for SQLite; that of PostgreSQL as it is. White space at its ends is not part of it.
 *
 * @throws {StorageError} whose message does not contain the URL, which may have a password; if a file that it names cannot
 *   be read
 */
export function databaseUrl(value: string = DEFAULT_DATABASE_URL, root: string = baseFolder): string {
  const trimmed = trimInvisible(value)
  if (isPostgresqlUrl(trimmed)) {
    readAddress(trimmed)
    return trimmed
  }
  const file = databaseFile(trimmed, root).split(path.sep).join('/')
  return file.startsWith('/') ? `file://${file}` : `file:///${file}`
}

/** Names the engine and the database of a DATABASE_URL that `databaseUrl` has checked, without user and password. */
export function nameDatabase(url: string): string {
  if (!isPostgresqlUrl(url)) return `sqlite ${databaseFile(url)}`
  return describeDatabase(readAddress(url)).replace(/^the/, 'postgresql')
}

/** Loads the engine of the database that a DATABASE_URL names, see `databaseUrl`. */
export async function loadEngine(url: string): Promise<Engine> {
  if (isPostgresqlUrl(url)) return (await import('./postgresql/engine.ts')).createEngine(url)
  return (await import('./sqlite/engine.ts')).createEngine(url)
}

/**
 * Opens a database that `migrateDatabase` has created.
 *
 * @param url a DATABASE_URL, see `databaseUrl`
 * @throws {StorageError} if it does not exist, cannot be used, or does not keep what the plant store promises
 */
export async function openDatabase(url: string, options: OpenOptions = {}): Promise<Database> {
  const engine = await loadEngine(url)
  const { dialect, name } = engine
  const { adapter, probe, close } = await engine.open(options)
  try {
    const prisma = createPrisma(await engine.loadClient(), adapter)
    const plants = createPlants(prisma, adapter, dialect)
    const tokens = createTokens(prisma, adapter, dialect)
    const newest = await newestMigration(engine.migrationsFolder)

    /** Fails if requests would fail now, which read the same as this does, or if the server should not run any more. */
    async function prove(): Promise<void> {
      await probe()
      await Promise.all([plants.states(['']), plants.read('', { limit: 1 }), tokens.find('')])
      const [row] = await select<{ name: string | null }>(adapter, SELECT_NEWEST)
      if (!row?.name || row.name <= newest) return
      const reason = `was migrated by a newer version, with ${row.name}: stop this server, and start that version`
      throw new StorageError(`${engine.database} ${reason}`)
    }

    return {
      engine: name,
      plants,
      tokens,
      secret: (secret) => readSecret(prisma, secret),

      whyUnavailable: createReadiness(prove, engine.database),
      logBytes: engine.logBytes ?? (async () => 0),
      close,
    }
  } catch (error) {
    await close()
    throw error
  }
}

/** Selects the last migration of a database. */
const SELECT_NEWEST = `SELECT max("migration_name") AS "name" FROM "_prisma_migrations" WHERE "rolled_back_at" IS NULL`

/** Returns the name of the last migration that this version has; each begins with its time. */
async function newestMigration(folder: string): Promise<string> {
  const names = (await readdir(folder)).filter((name) => /^\d/.test(name))
  return names.sort().at(-1) ?? ''
}

/**
 * Copies a SQLite database to a new file, as it is at one moment, even while others write to it. The copy is checked and on
 * disk before it gets its name, and only its owner may read it. The event loop stays free.
 *
 * @param url a DATABASE_URL, see `databaseUrl`
 * @param copy the path of the new file
 * @param onProgress is called with the bytes of the copy, and those of the database, which it has at most
 * @throws {StorageError} if `copy` exists, its folder does not, or the database needs that file, one of the two files
 *   cannot be used, or the engine is another
 */
export async function backupDatabase(url: string, copy: string, onProgress?: OnProgress): Promise<void> {
  const { database, backup } = await loadEngine(url)
  if (backup) return backup(copy, onProgress)
  const guide = 'docs/production/several-machines/README.md'
  throw new StorageError(`${database} is backed up by PostgreSQL's own tools: see ${guide}`)
}

/** Creates what explains why requests would fail now. After a failure it only has to notice that it is over. */
function createReadiness(probe: () => Promise<void>, database: string): Database['whyUnavailable'] {
  let wasAvailable = true
  return async () => {
    const patience = wasAvailable ? REQUEST_PATIENCE : 0
    const probing = retry(probe, { patience, maxPause: PROBE_PAUSE })
    try {
      await limitTime(probing, PROBE_TIMEOUT, () => new StorageError(`${database} does not respond`))
      wasAvailable = true
      return undefined
    } catch (error) {
      wasAvailable = false
      const { message } = error as Error
      if (!(error instanceof StorageError)) return `The database cannot be used: ${message}.`
      // Without the path or the address, which a probe does not need to know.
      const isNamed = message.startsWith(database)
      return isNamed ? `The database ${message.slice(message.indexOf(' ', database.length) + 1)}.` : `${message}.`
    }
  }
}

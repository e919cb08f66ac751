import { readdir } from 'node:fs/promises'
import path from 'node:path'
import type { SqlDriverAdapter } from '@prisma/driver-adapter-utils'
import type { Adapter, Engine, GeneratedClient, OnProgress, OpenOptions, Prisma } from './engine.ts'
import { rejectTransaction, StorageError, select } from './engine.ts'
import { baseFolder, trimInvisible } from './environment.ts'
import { limitTime, REQUEST_PATIENCE, retry } from './patience.ts'
import { createPlants, type Plants } from './plants.ts'
import { describeDatabase, readAddress } from './postgresql/address.ts'
import { createTokens, readSecret, type Tokens } from './tokens.ts'

/**
 * An open database: what the server knows of storage, the same for every engine. Where it cannot be used, methods throw
 * a {@link StorageError}; another error is a mistake in the program.
 */
export interface Database {
  /** The engine that it opened. */
  readonly engine: Engine['name']
  /** The plants of all accounts. */
  readonly plants: Plants
  /** The tokens of all accounts. */
  readonly tokens: Tokens
  /** Returns a secret of 32 random bytes, created at its first use and shared by all servers of the database. */
  secret(name: string): Promise<Buffer>
  /** Explains in a sentence why requests would fail now; undefined: they would not. Takes up to three seconds. */
  whyUnavailable(): Promise<string | undefined>
  /** Returns the size of SQLite's write-ahead log, in bytes; 0 for PostgreSQL. */
  logBytes(): Promise<number>
  /** Closes the database. Call it once, after the last query. */
  close(): Promise<void>
}

/** How long a probe may take, in milliseconds. */
const PROBE_TIMEOUT = 2_500
/**
 * The longest pause between two looks at a lock, in milliseconds: writers that release it only briefly are seen too.
 */
const PROBE_PAUSE = 5

/** The default of DATABASE_URL, relative to {@link baseFolder}. */
export const DEFAULT_DATABASE_URL = 'file:./data/plant-store.db'
/** What SQLite and Prisma take after the name of a file. */
const PARAMETERS = /(\?\w+)=[^\\/]*$/

/** Returns whether a DATABASE_URL is one of PostgreSQL. */
export function isPostgresqlUrl(value: string): boolean {
  return /^postgres(ql)?:/i.test(value)
}

/**
 * Checks a DATABASE_URL and returns it in the one form that the Prisma command line, Prisma Studio and this package all
 * support: `file:///absolute/path` for SQLite; that of PostgreSQL as it is. White space at its ends is not part of it.
 *
 * @throws {StorageError} whose message does not contain the URL, which may have a password; if a file that it names
 *   cannot be read
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

/**
 * Returns the absolute path of the file that a DATABASE_URL names: `file:./data/x.db`, relative to `root`, or
 * `file:/srv/x.db`, also written `file:///srv/x.db`. As everywhere in Prisma, the path is not percent-encoded: `#`, `%`
 * and `?` are part of it.
 *
 * @throws {StorageError} if it names no file
 */
export function databaseFile(value: string, root: string = baseFolder): string {
  const written = value.replace(/^file:/, '')
  const reason = whyNotAFile(value, written)
  if (reason) throw new StorageError(`DATABASE_URL ${reason}; write for example ${DEFAULT_DATABASE_URL}`)
  // On Windows: file:///C:/plants.db
  return path.resolve(root, written.replace(/^\/+(?=[A-Za-z]:[\\/])/, ''))
}

function whyNotAFile(value: string, written: string): string | undefined {
  if (value.trim() === '') return 'is empty'
  if (!value.startsWith('file:')) return 'does not start with "file:" or "postgresql:"'
  if (/(^|[\\/])\s*\.*$/.test(written)) return 'does not name a file'
  if (written.startsWith(':memory:')) return 'names a database in memory, which is lost when the server stops'
  if (written.includes('\0')) return 'contains NUL'
  // The values may be secrets.
  const [, first] = PARAMETERS.exec(written) ?? []
  if (first) return `has parameters, which are not supported: remove "${first}" and what follows`
  if (/^\/\/[^/]/.test(written)) return 'names another host: write file:/path or file:///path'
  return undefined
}

/** Loads the engine of the database that a DATABASE_URL names, see `databaseUrl`. */
export async function loadEngine(url: string): Promise<Engine> {
  if (isPostgresqlUrl(url)) return (await import('./postgresql/engine.ts')).createEngine(readAddress(url))
  const file = databaseFile(url)
  return (await import('./sqlite/engine.ts')).createEngine(file, file === databaseFile(DEFAULT_DATABASE_URL))
}

/** Returns the names of migrations in the order in which they are applied: each begins with its time. */
export async function listMigrations(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true })
  return entries
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name)
    .sort()
}

/**
 * Opens a database that `migrateDatabase` has created.
 *
 * @param url a DATABASE_URL, see `databaseUrl`
 * @throws {StorageError} if it does not exist, cannot be used, or does not keep what the plant store promises
 */
export async function openDatabase(url: string, options: OpenOptions = {}): Promise<Database> {
  const engine = await loadEngine(url)
  const { statements } = engine
  const { adapter, probe, close } = await engine.open(options)
  try {
    const prisma = createPrisma(await engine.loadClient(), adapter)
    const plants = createPlants(prisma, adapter, statements)
    const tokens = createTokens(prisma, adapter, statements)
    const migrations = await listMigrations(engine.migrationsFolder)

    /** Fails if requests would fail now, which read the same as this does, or if the server should not run any more. */
    async function prove(): Promise<void> {
      await probe()
      await Promise.all([plants.states(['']), plants.read('', { limit: 1 }), tokens.find('')])
      const [row] = await select<{ name: string | null }>(adapter, SELECT_NEWEST)
      if (!row?.name || row.name <= (migrations.at(-1) ?? '')) return
      const reason = `was migrated by a newer version, with ${row.name}: stop this server, and start that version`
      throw new StorageError(`${engine.subject} ${reason}`)
    }

    return {
      engine: engine.name,
      plants,
      tokens,
      secret: (secret) => readSecret(prisma, secret),

      whyUnavailable: createWhyUnavailable(prove, engine.subject),
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

/**
 * Copies a SQLite database to a new file, as it is at one moment, even while others write to it. The copy is checked
 * and on disk before it gets its name, and only its owner may read it. The event loop stays free.
 *
 * @param url a DATABASE_URL, see `databaseUrl`
 * @param target the path of the new file
 * @param onProgress is called with the bytes of the copy, and those of the database, which it has at most
 * @throws {StorageError} if `target` exists, its folder does not, or the database needs that file, one of the two files
 *   cannot be used, or the engine is another
 */
export async function backupDatabase(url: string, target: string, onProgress?: OnProgress): Promise<void> {
  const { subject, backup } = await loadEngine(url)
  if (backup) return backup(target, onProgress)
  const guide = 'docs/production/several-machines/README.md'
  throw new StorageError(`${subject} is backed up by PostgreSQL's own tools: see ${guide}`)
}

/** Creates what explains why requests would fail now. After a failure it only has to notice that it is over. */
function createWhyUnavailable(prove: () => Promise<void>, subject: string): Database['whyUnavailable'] {
  let wasAvailable = true
  return async () => {
    const patience = wasAvailable ? REQUEST_PATIENCE : 0
    const proving = retry(prove, { patience, maxPause: PROBE_PAUSE })
    try {
      await limitTime(proving, PROBE_TIMEOUT, () => new StorageError(`${subject} does not respond`))
      wasAvailable = true
      return undefined
    } catch (error) {
      wasAvailable = false
      const { message } = error as Error
      if (!(error instanceof StorageError)) return `The database cannot be used: ${message}.`
      // Without the path or the address, which a probe does not need to know.
      const isNamed = message.startsWith(subject)
      return isNamed ? `The database ${message.slice(message.indexOf(' ', subject.length) + 1)}.` : `${message}.`
    }
  }
}

/** Creates the Prisma Client of an engine. */
export function createPrisma(Client: GeneratedClient, adapter: Adapter): Prisma {
  const { schemaName } = adapter
  const driverAdapter: SqlDriverAdapter = {
    ...adapter,
    adapterName: '@plant-store/prisma',
    executeScript: rejectTransaction,
    startTransaction: rejectTransaction,
    getConnectionInfo: () => ({ supportsRelationJoins: false, ...(schemaName !== undefined && { schemaName }) }),
    dispose: async () => {},
  }
  // The default format of errors quotes the source code around the call.
  return new Client({
    adapter: { ...driverAdapter, connect: async () => driverAdapter },
    errorFormat: 'minimal',
  }) as Prisma
}

import { loadEngine } from './address.ts'
import { type Engine, type OnStep, StorageError } from './engine.ts'
import { limitTime, TIMES } from './patience.ts'
import { createPlants, type Plants } from './plants.ts'
import { createTokens, readSecret, type Tokens } from './tokens.ts'

/**
 * An open database: what the server knows of storage, the same for every engine. Where it cannot be used, methods throw
 * a {@link StorageError}; another error is a mistake in the program.
 */
export interface Database {
  /** The engine that it opened. */
  readonly engine: Engine['name']
  /** What an operator should check, in a sentence; undefined: nothing. */
  readonly warning: string | undefined
  /** The plants of all accounts. */
  readonly plants: Plants
  /** The tokens of all accounts. */
  readonly tokens: Tokens
  /** Returns whether it has no plants and no tokens. */
  isEmpty(): Promise<boolean>
  /** Returns a secret of 32 random bytes, created at its first use and shared by all servers of the database. */
  secret(name: string): Promise<Buffer>
  /** Explains in a sentence why requests would fail now; undefined: they would not. Takes up to three seconds. */
  whyUnavailable(): Promise<string | undefined>
  /** Closes the database. Call it once, after the last query. */
  close(): Promise<void>
}

/**
 * Opens a database that `migrateDatabase` has created.
 *
 * @param url a DATABASE_URL, see `databaseUrl`
 * @param patience how long a statement waits for a database that is locked or not reachable, in milliseconds
 * @throws {StorageError} if it does not exist, cannot be used, or does not keep what the plant store promises
 */
export async function openDatabase(url: string, patience: number = TIMES.request): Promise<Database> {
  const engine = await loadEngine(url)
  const opened = await engine.open(patience)
  const { prisma } = opened
  const plants = createPlants(opened, engine.statements)
  const tokens = createTokens(opened, engine.statements)

  /** Fails if requests would fail now, which read the same as this does. */
  async function probe(): Promise<void> {
    await opened.probe()
    await Promise.all([plants.states(['']), plants.read('', { limit: 1 }), tokens.find([''])])
    await prisma.secret.findFirst()
  }

  return {
    engine: engine.name,
    warning: opened.warning,
    plants,
    tokens,
    isEmpty: async () => (await prisma.plant.count({ take: 1 })) + (await prisma.token.count({ take: 1 })) === 0,
    secret: (secret) => readSecret(prisma, secret),
    whyUnavailable: () => explain(probe, engine.subject),
    close: opened.close,
  }
}

/**
 * Copies a SQLite database to a new file, as it is at one moment, even while others write to it. The copy is checked
 * and on disk before it gets its name, and only its owner may read it. The event loop stays free.
 *
 * @param url a DATABASE_URL, see `databaseUrl`
 * @param target the path of the new file
 * @param onStep is called with how much is copied
 * @throws {StorageError} if `target` exists, its folder does not, or the database needs that file, one of the two files
 *   cannot be used, or the engine is another
 */
export async function backupDatabase(url: string, target: string, onStep: OnStep = () => {}): Promise<void> {
  const { subject, backup } = await loadEngine(url)
  if (backup) return backup(target, onStep)
  const guide = 'docs/production/several-machines/README.md'
  throw new StorageError(`${subject} is backed up by PostgreSQL's own tools: see ${guide}`)
}

/** Explains why requests would fail now; undefined: they would not. */
async function explain(probe: () => Promise<void>, subject: string): Promise<string | undefined> {
  try {
    await limitTime(probe(), TIMES.probe, () => new StorageError(`${subject} does not respond`))
    return undefined
  } catch (error) {
    const { message } = error as Error
    if (!(error instanceof StorageError)) return `The database cannot be used: ${message}.`
    // Without the path or the address, which a probe does not need to know.
    const name = error.subject ?? subject
    return message.startsWith(name) ? `The database${message.slice(name.length)}.` : `${message}.`
  }
}

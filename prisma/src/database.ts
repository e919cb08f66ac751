import type { Plants } from './plants.ts'
import type { Tokens } from './tokens.ts'

/** An open database: what the server knows of storage, the same for every engine. All its methods throw {@link StorageError}. */
export interface Database {
  readonly engine: 'sqlite' | 'postgresql'
  readonly plants: Plants
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

/** Why storage fails; `unavailable`: what serves the database does not respond, rejects this server or is not set up. */
export const storageFaults = ['locked', 'disk-full', 'read-only', 'io-error', 'damaged', 'unavailable'] as const

/** Why storage fails. */
export type StorageFault = (typeof storageFaults)[number]

/** What is known of a failure of storage besides its message. */
export interface StorageFailure {
  readonly fault: StorageFault
  /** When a client should retry its request, in seconds. */
  readonly retryAfter: number
  /** Whether it may go away within a moment, so that the same statement may succeed. */
  readonly isTemporary: boolean
}

/**
 * The database cannot be used as it is now. The message is one sentence for the operator: which database, and what to do. Every
 * error that is not one of these is a mistake in the program.
 */
export class StorageError extends Error implements StorageFailure {
  override readonly name = 'StorageError'
  readonly fault: StorageFault
  readonly retryAfter: number
  readonly isTemporary: boolean

  /** @param failure default: unavailable until an operator has fixed it */
  constructor(message: string, failure: Partial<StorageFailure> & { cause?: unknown } = {}) {
    super(message, { cause: failure.cause })
    this.fault = failure.fault ?? 'unavailable'
    this.retryAfter = failure.retryAfter ?? 5
    this.isTemporary = failure.isTemporary ?? false
  }
}

/** How to open a database. */
export interface OpenOptions {
  /** How long a statement waits for a database that is locked or not reachable, in milliseconds. Default: 2000. */
  patience?: number
  /** Whether requests change or delete plants: then the user of the database needs the rights to. Default: false. */
  modifiesPlants?: boolean
  /** Called with a sentence about what works, and should not stay as it is. */
  onWarning?: (warning: string) => void
}

/** How to migrate. */
export interface MigrateOptions {
  /** Called with the names of the pending migrations, and whether these are all, as for a new database. */
  onPending?: (names: string[], isNew: boolean) => void
  /** Called with the name of each migration before it is applied. */
  onMigration?: (name: string, ...progress: Parameters<OnProgress>) => void
}

/** Is called with how much of a long step is done: bytes, rows or migrations. */
export type OnProgress = (done: number, total: number) => void

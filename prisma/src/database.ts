/** An open database: what the server knows of storage, the same for every engine. All its methods throw {@link StorageError}. */
export interface Database {
  readonly engine: 'sqlite' | 'postgresql'
  readonly plants: Plants
  readonly tokens: Tokens
  /** Returns a secret of 32 random bytes, created at its first use and shared by all servers of the database. */
  secret(name: string): Promise<Buffer>
  /** Returns whether there is neither a token nor a plant yet. */
  isEmpty(): Promise<boolean>
  /** Explains in a sentence why requests would fail now; undefined: they would not. Takes up to three seconds. */
  whyUnavailable(): Promise<string | undefined>
  /** Reads what an operator watches of the database. */
  state(): Promise<DatabaseState>
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

/** What an operator watches of a database. What cannot be read now, or does not exist for its engine, is undefined. */
export interface DatabaseState {
  /** The size of SQLite's write-ahead log, in bytes. */
  readonly logSize?: number | undefined
  /** What is free on the disk of a SQLite file for this user, in bytes. */
  readonly freeSpace?: number | undefined
  /** When the last backup that succeeded ended, in seconds since 1970; 0: there was none. */
  readonly lastBackup?: number | undefined
}

/** How to open a database. */
export interface OpenOptions {
  /** How long a statement waits for a database that is locked or not reachable, in milliseconds. Default: 2000. */
  patience?: number
  /** Whether requests change or delete plants: then the user of the database needs the rights to. Default: false. */
  editsPlants?: boolean
  /** Aborts waiting for a database that is locked or not reachable. */
  signal?: AbortSignal | undefined
}

/** How to migrate. */
export interface MigrateOptions {
  /** Called with the names of the pending migrations. */
  onPending?: (names: string[]) => void
  /** Aborts the migration: nothing has changed then. */
  signal?: AbortSignal | undefined
}

/** How to back up. */
export interface BackupOptions {
  /** Called when a phase begins, and ten times a second. */
  onProgress?: (progress: BackupProgress) => void
  /** Aborts the copy, and removes the part that has been written. */
  signal?: AbortSignal | undefined
}

/**
 * How far a backup is: the size of the copy in bytes, and about which fraction of it is written, from 0 to 1. Of the check,
 * which takes longer, both are unknown.
 */
export type BackupProgress =
  | { readonly phase: 'copying'; readonly bytes: number; readonly fraction: number }
  | { readonly phase: 'checking' }

/** The plants of all accounts. */
export interface Plants {
  /** Inserts, in order, the plants whose account does not have their id yet: all or none, durably. Returns how many. */
  insert(plants: readonly PlantRow[]): Promise<number>
  /** Returns for each plant whether its account has its id with the same content; undefined: its account lacks the id. */
  compare(plants: readonly PlantRow[]): Promise<(boolean | undefined)[]>
  /** Reads an account's plants in order of creation. */
  list(account: string, range?: ListRange): Promise<PlantList>
  /** Reads, for each list as it was read before, how it is now: for all of them in one short statement. */
  states(lists: readonly KnownList[]): Promise<ListState[]>
}

/** The end of a list as it was read before. */
export interface ListEnd {
  /** The `seq` of its last plant; 0 if it is empty. */
  readonly last: number
  /** When that plant was created, in milliseconds since 1970: a database that has lost plants gives their `seq` to others. */
  readonly lastCreatedAt: number | null
}

/** A list as it was read before. */
export interface KnownList extends ListEnd {
  readonly account: string
}

/** A list as it is in the database at one moment. */
export interface ListState extends ListEnd {
  /** Another number after each change or deletion of a plant of the account, by anyone. */
  readonly edits: number
  /** Whether the last plant of the known list is still stored. */
  readonly hasKnown: boolean
  /** The plants after that one, as JSON objects separated by commas; undefined: they take more than a few kilobytes. */
  readonly news: string | undefined
}

/** A plant as it is stored. */
export interface PlantRow {
  readonly account: string
  /** An int64 as canonical decimal text. */
  readonly id: string
  readonly name: string
  readonly tag: string | null
}

/** Which part of an account's list to read. */
export interface ListRange {
  /** At most this many plants. Default: all. */
  limit?: number | undefined
  /** Only plants created after the one with this `seq`. Default: from the first. */
  after?: number | undefined
  /** Only plants up to the one with this `seq`. Default: to the last. */
  until?: number | undefined
}

/** JSON text in pieces, each of which is read when it is requested. */
export type JsonPieces = AsyncIterableIterator<string, undefined>

/** A part of an account's list, as it was when it was requested. */
export interface PlantList {
  /** The plants as the text of a JSON array, a short one in one piece. */
  readonly pieces: JsonPieces
  /** Whether the first piece is all of it. */
  readonly isWhole: boolean
  /** The `seq` of the last plant of a page; 0 if there is none. */
  readonly last: number
  /** Whether plants follow that one. */
  readonly more: boolean
}

/** The tokens of all accounts. */
export interface Tokens {
  create(token: NewTokenRow): Promise<TokenRow>
  /** Returns all tokens, or those of an account, oldest first. */
  list(account?: string): Promise<TokenRow[]>
  /** Revokes a token; undefined where no token has this id. Revoking it again keeps the first time. */
  revoke(id: string): Promise<TokenRow | undefined>
  /** Returns the token with this hash, even if it is expired or revoked. */
  find(hash: string): Promise<TokenRow | undefined>
}

/** A token as it is stored: everything but the token itself. */
export interface TokenRow {
  /** Names it in `token list`, in `token revoke` and in logs. */
  readonly id: string
  readonly account: string
  readonly scopes: readonly string[]
  readonly label: string | null
  readonly createdAt: Date
  /** When it expires; `null`: never. */
  readonly expiresAt: Date | null
  /** When it was revoked; `null`: it was not. */
  readonly revokedAt: Date | null
}

/** A token to store. */
export interface NewTokenRow extends Omit<TokenRow, 'createdAt' | 'revokedAt'> {
  /** The token's SHA-256, 64 lower-case hexadecimal digits. */
  readonly hash: string
}

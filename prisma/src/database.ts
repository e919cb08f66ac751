/** An open database: what the server knows of storage, the same for every engine. All its methods throw {@link StorageError}. */
export interface Database {
  readonly engine: 'sqlite' | 'postgresql'
  readonly plants: Plants
  readonly tokens: Tokens
  /** Returns a secret of 32 random bytes, created at its first use and shared by all servers of the database. */
  secret(name: string): Promise<Buffer>
  /** Explains in a sentence why requests would fail now; undefined: they would not. Takes up to three seconds. */
  whyUnavailable(): Promise<string | undefined>
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
}

/** How to migrate. */
export interface MigrateOptions {
  /** Called with the names of the pending migrations. */
  onPending?: (names: string[]) => void
}

/** The plants of all accounts. */
export interface Plants {
  /** Inserts, in order, the plants whose account does not have their id yet: all or none, durably. Returns how many. */
  insert(plants: readonly PlantRow[]): Promise<number>
  /** Returns for each plant whether its account has its id with the same content; undefined: its account lacks the id. */
  compare(plants: readonly PlantRow[]): Promise<(boolean | undefined)[]>
  /** Reads, for each account, how its list is now: for all of them in one short statement. */
  states(accounts: readonly string[]): Promise<ListState[]>
  /** Reads a part of an account's list, in order of creation, with one short statement. */
  read(account: string, range: ListRange): Promise<ListPart>
  /** Returns whether no account has a plant. */
  isEmpty(): Promise<boolean>
}

/** A list as it is at one moment. */
export interface ListState {
  /**
   * Another text after each insert, change and deletion of a plant of the account, by anyone: lists of one account with the
   * same version are the same. Undefined: it is not known.
   */
  readonly version: string | undefined
  /** The `seq` of the last plant; 0 if there is none. */
  readonly last: number
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
  /** At most this many plants. */
  limit: number
  /** Only plants created after the one with this `seq`. Default: from the first. */
  after?: number | undefined
  /** Only plants up to the one with this `seq`. Default: to the last. */
  until?: number | undefined
}

/** A part of a list, as it is at one moment. */
export interface ListPart {
  /** The plants as JSON objects separated by commas; undefined: several have more than 64 kB, and none was read. */
  readonly json: string | undefined
  /** The `seq` of the last of them; 0 if there is none. */
  readonly last: number
  /** Whether plants follow that one in the range. */
  readonly more: boolean
  /** The version of the whole list, as {@link ListState} has it. */
  readonly version: string | undefined
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
  /** Returns whether there is no token. */
  isEmpty(): Promise<boolean>
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

/** An open database: what the server knows of storage, the same for every engine. */
export interface Database {
  readonly plants: Plants
  readonly tokens: Tokens
  /** Returns a secret of 32 random bytes, created at its first use and shared by all servers of the database. */
  secret(name: string): Promise<Buffer>
  /** Returns whether there is neither a token nor a plant yet. */
  isEmpty(): Promise<boolean>
  /** Explains in a sentence why requests would fail now; undefined: they would not. Takes up to two seconds. */
  whyUnavailable(): Promise<string | undefined>
  /** Recognizes an error that may go away by itself; undefined: retrying does not help. */
  failure(error: unknown): TemporaryFailure | undefined
  /** Returns the size of the write-ahead log, in bytes. */
  logSize(): Promise<number>
  /** Closes the database. Call it once, after the last query. */
  close(): Promise<void>
}

/** How to open a database. */
export interface OpenOptions {
  /** How long a write waits while another process has locked the database, in milliseconds. Default: 2000. */
  patience?: number
  /** Called each time a write is retried because the database is locked. */
  onRetry?: () => void
  /** Aborts waiting for a database that another process has locked. */
  signal?: AbortSignal | undefined
}

/** Why a request failed that may succeed later. */
export interface TemporaryFailure {
  /** A sentence for the client. */
  readonly message: string
  /** When to retry, in seconds. */
  readonly retryAfter: number
}

/** The plants of all accounts. */
export interface Plants {
  /** Inserts, in order, the plants whose account does not have their id yet: all or none, durably. Returns how many. */
  insert(plants: readonly PlantRow[]): Promise<number>
  /** Returns the stored plants that have the account and id of one of these. */
  find(keys: readonly Pick<PlantRow, 'account' | 'id'>[]): Promise<PlantRow[]>
  /** Reads an account's plants in order of creation. */
  list(account: string, range?: ListRange): Promise<PlantList>
  /** Returns a number that changes when another connection, of any process, has changed the database. */
  version(): Promise<number>
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
}

/** A part of an account's list, as it was when it was requested. */
export interface PlantList {
  /** The plants as the text of a JSON array, a short one in one piece. Each piece is read when it is requested. */
  readonly pieces: AsyncGenerator<string, undefined>
  /** The `seq` of the last plant where more follow. */
  readonly next: number | undefined
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

/** Runs an operation, again while it fails because the database is locked. */
export type Retry = <Result>(run: () => Promise<Result>) => Promise<Result>

import type { Account } from './handlers.ts'

/** What a token of the fake allows. */
export interface FakeToken {
  /** The account that the token belongs to. Default: `default`. */
  readonly account?: string | undefined
  /** Default: both. */
  readonly scopes?: readonly ('read' | 'write')[] | undefined
  /** Default: never. */
  readonly expiresAt?: Date | undefined
}

/** The state of the fake. */
export interface FakeState {
  readonly bodyLimit: number
  /** The path of the base URL, without a slash at the end. */
  readonly basePath: string
  readonly tokens: Map<string, FakeToken>
  readonly accounts: Map<string, Account>
}

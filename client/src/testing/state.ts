/** A plant in the fake. */
export interface StoredPlant {
  readonly id: bigint
  readonly name: string
  readonly tag?: string
}

/** What a token of the fake allows. */
export interface FakeToken {
  /** The account that the token belongs to. Default: `default`. */
  readonly account?: string | undefined
  /** Default: both. */
  readonly scopes?: readonly ('read' | 'write')[] | undefined
  /** Default: never. */
  readonly expiresAt?: Date | undefined
}

/** The plants of an account, by id, in order of creation. */
export type Plants = Map<bigint, StoredPlant>

/** The state of the fake. */
export interface FakeState {
  readonly bodyLimit: number
  readonly path: string
  readonly tokens: Map<string, FakeToken>
  readonly accounts: Map<string, Plants>
}

import { randomBytes } from 'node:crypto'
import { type Scope, ScopeSchema } from '@plant-store/contract'
import type { TokenRow, Tokens } from '@plant-store/prisma'
import { generateToken, hashToken } from './token-format.ts'

/** A token as it is stored: everything but the token itself. */
export interface Token extends TokenRow {
  readonly scopes: Scope[]
}

/** What to create a token with. */
export interface NewToken {
  account: string
  /** Default: all scopes. */
  scopes?: readonly Scope[] | undefined
  /** Default: it does not expire. */
  expiresAt?: Date | undefined
  /** A note for people, such as what the token is for. */
  label?: string | undefined
}

/** Creates, lists, revokes and finds the tokens of all accounts. */
export interface TokenStore {
  /** Creates a token. The result is the only place where it is ever seen. */
  create(token: NewToken): Promise<Token & { token: string }>
  /** Returns all tokens, or those of an account, oldest first. */
  list(account?: string): Promise<Token[]>
  /** Revokes a token for good; undefined where no token has this id. */
  revoke(id: string): Promise<Token | undefined>
  /** Returns the tokens that expired or were revoked before a time, oldest first. */
  listEnded(before: Date): Promise<Token[]>
  /** Deletes tokens, which are then unknown. */
  delete(ids: readonly string[]): Promise<void>
  /** Returns the token with this hash, even if it is expired or revoked. */
  find(hash: string): Promise<Token | undefined>
}

/** Creates the token store of a database. */
export function createTokenStore(tokens: Tokens): TokenStore {
  return {
    async create({ account, scopes = ScopeSchema.options, expiresAt = null, label = null }) {
      const token = generateToken()
      const id = randomBytes(6).toString('hex')
      const row = await tokens.create({ id, hash: hashToken(token), account, scopes, label, expiresAt })
      return { ...toToken(row), token }
    },

    list: async (account) => (await tokens.list(account)).map(toToken),
    revoke: async (id) => optional(await tokens.revoke(id)),
    listEnded: async (before) => (await tokens.listEnded(before)).map(toToken),
    delete: (ids) => tokens.delete(ids),
    find: async (hash) => optional(await tokens.find(hash)),
  }
}

function optional(row: TokenRow | undefined): Token | undefined {
  return row && toToken(row)
}

function toToken(row: TokenRow): Token {
  return { ...row, scopes: ScopeSchema.array().parse(row.scopes) }
}

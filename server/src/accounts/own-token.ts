import type { Scope } from '@plant-store/contract'
import { createMemory } from './token-cache.ts'
import { hashToken, isWellFormedToken } from './token-format.ts'
import type { Token, TokenStore } from './token-store.ts'

/** Who sends a request. */
export interface Caller {
  /** The account whose plants it sees and creates. */
  account: string
  /** What its requests are counted under: an own token's id, or whom a token of an issuer names, however it is spelled. */
  rateLimitKey: string
  scopes: readonly Scope[]
}

/** Why a token is not accepted. */
export type Refusal = 'tokenInvalid' | 'tokenEnded'

/** Tells who a token belongs to, or why it is refused. */
export type Authenticate = (token: string) => Promise<Caller | Refusal>

/**
 * How long a token that was found is believed, in milliseconds. Revocation must take effect within one second in every
 * process, so it is less than that.
 */
const BELIEVED_FOR = 500

/**
 * Makes an authenticator over a token store. It remembers the tokens that it found for half a second, so that a busy
 * caller costs neither a database query nor a hash a request. Tokens that it did not find are never remembered: a new
 * token works at once.
 */
export function createAuthenticator(tokens: TokenStore): Authenticate {
  const memory = createMemory<Token>(BELIEVED_FOR)

  async function find(text: string): Promise<Token | undefined> {
    const token = isWellFormedToken(text) ? await tokens.find(hashToken(text)) : undefined
    if (token) memory.remember(text, token)
    return token
  }

  return async (text) => {
    const token = memory.recall(text) ?? (await find(text))
    if (!token) return 'tokenInvalid'
    if (token.revokedAt || (token.expiresAt && token.expiresAt.getTime() <= Date.now())) return 'tokenEnded'
    return { account: token.account, rateLimitKey: token.id, scopes: token.scopes }
  }
}

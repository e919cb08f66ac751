import type { Scope } from '@plant-store/contract'
import { hashToken, isWellFormedToken } from './token-format.ts'
import type { Token, TokenStore } from './token-store.ts'

/** Who sends a request. */
export interface Caller {
  /** The account whose plants it sees and creates. */
  account: string
  /** Names the token in logs. */
  tokenId: string
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

/** How many tokens are remembered at once; the oldest is forgotten first. */
const REMEMBERED = 10_000

interface Memory {
  token: Token
  until: number
}

/**
 * Makes an authenticator over a token store. It remembers the tokens that it found for half a second, so that a busy
 * caller costs neither a database query nor a hash a request. It finds them in a map, by hash and not by comparing
 * prefixes, so that the time tells nothing. Tokens that it did not find are never remembered: a new token works at once,
 * and a flood of wrong ones fills no memory.
 */
export function createAuthenticator(tokens: TokenStore): Authenticate {
  const memory = new Map<string, Memory>()

  async function find(text: string): Promise<Token | undefined> {
    memory.delete(text)
    const token = isWellFormedToken(text) ? await tokens.find(hashToken(text)) : undefined
    if (token) remember(text, token)
    return token
  }

  function remember(text: string, token: Token): void {
    const [oldest] = memory.keys()
    if (memory.size >= REMEMBERED && oldest !== undefined) memory.delete(oldest)
    memory.set(text, { token, until: performance.now() + BELIEVED_FOR })
  }

  return async (text) => {
    const remembered = memory.get(text)
    const token = remembered && remembered.until > performance.now() ? remembered.token : await find(text)
    if (!token) return 'tokenInvalid'
    if (token.revokedAt || (token.expiresAt && token.expiresAt.getTime() <= Date.now())) return 'tokenEnded'
    return { account: token.account, tokenId: token.id, scopes: token.scopes }
  }
}

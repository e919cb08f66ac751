import type { FindToken } from './authentication.ts'
import { hashToken, isWellFormedToken } from './token-format.ts'
import { tokenState } from './token-state.ts'
import type { TokenStore } from './token-store.ts'

/** Looks up the tokens that this service has created. */
export function findOwnToken(tokens: TokenStore): FindToken {
  return async (text) => {
    const token = isWellFormedToken(text) ? await tokens.find(hashToken(text)) : undefined
    if (!token) return 'tokenInvalid'
    if (tokenState(token) !== 'active') return 'tokenEnded'
    const expiresAt = token.expiresAt?.getTime() ?? Number.POSITIVE_INFINITY
    return { identity: { account: token.account, tokenId: token.id, scopes: token.scopes }, expiresAt }
  }
}

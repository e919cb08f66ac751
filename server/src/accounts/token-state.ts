import type { Token } from './token-store.ts'

/** Whether a token can be used, or why not. */
export type TokenState = 'active' | 'expired' | 'revoked'

/** Returns the state of a token now. One that was revoked stays so, also once it would have expired. */
export function tokenState({ expiresAt, revokedAt }: Pick<Token, 'expiresAt' | 'revokedAt'>): TokenState {
  if (revokedAt) return 'revoked'
  // An invalid date is NaN, which must not mean forever.
  return expiresAt === null || expiresAt.getTime() > Date.now() ? 'active' : 'expired'
}

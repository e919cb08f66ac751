import type { Logger } from 'pino'
import type { Token } from './token-store.ts'

/** Logs that a token was created or revoked, for audits: its id and what it may do, never the token or its hash. */
export function logTokenEvent(
  logger: Logger,
  event: 'token created' | 'token revoked',
  { id, account, scopes, expiresAt }: Token,
): void {
  logger.info({ event, tokenId: id, account, scopes, expiresAt }, event)
}

import type { Logger } from 'pino'
import { auditLogger } from '../telemetry/log/logger.ts'
import type { Token } from './token-store.ts'

/**
 * Logs that a token was created, revoked or deleted, for audits, unless the log is silent: its id and what it may do, never the
 * token or its hash.
 */
export function logTokenEvent(
  logger: Logger,
  event: 'token created' | 'token revoked' | 'token pruned',
  { id, account, scopes, expiresAt }: Token,
): void {
  auditLogger(logger).info({ event, tokenId: id, account, scopes, expiresAt }, event)
}

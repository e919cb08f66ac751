import { type Scope, ScopeSchema } from '@plant-store/contract'
import type { Logger } from 'pino'
import { isAccountName, logTokenEvent, type Token, type TokenStore } from '../../accounts/token-store.ts'
import { parseDuration } from '../../settings/duration.ts'
import type { Settings } from '../../settings/settings.ts'
import { createLogger, STANDARD_ERROR } from '../../telemetry/log/logger.ts'
import { UsageError } from '../console/errors.ts'
import { OutputError, print } from '../console/output.ts'
import { formatJson } from '../console/printable.ts'
import { withTokens } from './with-tokens.ts'

/** The options of `token create`, as typed in. */
export interface CreateTokenOptions {
  account?: string
  scope?: string
  expires?: string
  label?: string
  json?: boolean
}

/** Keeps the year at four digits, which databases and JSON agree on. */
const MAX_EXPIRY = '999999d'

/**
 * Creates a token and prints nothing else. A token that cannot be printed is revoked.
 *
 * @throws OutputError
 */
export async function createToken(
  settings: Settings,
  { account, scope, expires, label, json }: CreateTokenOptions,
): Promise<void> {
  if (account === undefined) throw new UsageError('name the account that the token belongs to with --account')
  if (!isAccountName(account)) throw new UsageError('--account must be 1 to 200 visible characters')
  const token = {
    account,
    scopes: scope === undefined ? undefined : parseScopes(scope),
    expiresAt: expires === undefined ? undefined : parseExpiry(expires),
    label,
  }
  const logger = await createLogger(settings.logLevel, STANDARD_ERROR)
  await withTokens(settings.databaseUrl, async (tokens) => {
    const created = await tokens.create(token)
    logTokenEvent(logger, 'token created', created)
    try {
      print(json ? formatCreated(created) : created.token)
    } catch (error) {
      throw await revokeUnprinted(tokens, created, error as Error, logger)
    }
  })
}

function formatCreated({ token, id, account, scopes, expiresAt, label }: Token & { token: string }): string {
  return formatJson({ token, id, account, scopes, expiresAt, label })
}

/** Revokes a token that could not be printed, and returns the error that says so. */
async function revokeUnprinted(tokens: TokenStore, { id }: Token, { message }: Error, logger: Logger): Promise<Error> {
  try {
    const revoked = await tokens.revoke(id)
    if (revoked) logTokenEvent(logger, 'token revoked', revoked)
    return new OutputError(`the token is revoked, since ${message}`)
  } catch {
    return new OutputError(`revoke the token with "plant-store token revoke ${id}", since ${message}`)
  }
}

function parseScopes(text: string): Scope[] {
  const scopes = ScopeSchema.array().min(1).safeParse(text.split(',').filter(Boolean))
  if (!scopes.success)
    throw new UsageError(`--scope must be ${ScopeSchema.options.join(' or ')}, or both with a comma between`)
  return [...new Set(scopes.data)]
}

function parseExpiry(text: string): Date {
  const duration = parseDuration(text, MAX_EXPIRY)
  if (duration === undefined) {
    throw new UsageError(`--expires must be a time between 1ms and ${MAX_EXPIRY}, such as 30s, 15m, 12h or 90d`)
  }
  return new Date(Date.now() + duration)
}

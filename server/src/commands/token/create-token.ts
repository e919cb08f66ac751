import { type Scope, ScopeSchema } from '@plant-store/contract'
import type { Logger } from 'pino'
import { isAccountName } from '../accounts/account-name.ts'
import { logTokenEvent } from '../accounts/log-token-event.ts'
import type { Token, TokenStore } from '../accounts/token-store.ts'
import { parseDuration } from '../settings/duration.ts'
import type { Settings } from '../settings/settings.ts'
import { createLogger, STANDARD_ERROR } from '../telemetry/logger.ts'
import { announce, OutputError, print } from './console/output.ts'
import { UsageError } from './console/usage-error.ts'
import { withTokens } from './with-tokens.ts'

/** The options of `token create`, as typed in. */
export interface CreateTokenOptions {
  account: string
  scope?: string
  expires?: string
  label?: string
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
  { account, scope, expires, label }: CreateTokenOptions,
): Promise<void> {
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
      print(created.token)
    } catch (error) {
      throw await revokeUnprinted(tokens, created, error as Error, logger)
    }
  })
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

/** Prints the tokens, as a table for people or as JSON for programs. */
export async function listTokens(
  settings: Settings,
  { account, json }: { account?: string; json?: boolean },
): Promise<void> {
  await withTokens(settings.databaseUrl, async (store) => {
    const tokens = await store.list(account)
    print(json ? JSON.stringify(tokens, null, 2) : formatTable(tokens))
  })
}

/** Revokes a token. */
export async function revokeToken(settings: Settings, id: string): Promise<void> {
  const logger = await createLogger(settings.logLevel, STANDARD_ERROR)
  await withTokens(settings.databaseUrl, async (tokens) => {
    const token = await tokens.revoke(id)
    if (!token)
      throw new UsageError(`token ${JSON.stringify(id)} does not exist; list them with: plant-store token list`)
    logTokenEvent(logger, 'token revoked', token)
    announce(`revoked ${token.id} of the account ${JSON.stringify(token.account)}`)
  })
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

function formatTable(tokens: readonly Token[]): string {
  const header = ['ID', 'ACCOUNT', 'SCOPES', 'CREATED', 'EXPIRES', 'REVOKED', 'LABEL']
  const rows = tokens.map(({ id, account, scopes, createdAt, expiresAt, revokedAt, label }) => [
    id,
    account,
    scopes.join(','),
    formatTime(createdAt),
    formatTime(expiresAt),
    formatTime(revokedAt),
    label ?? '',
  ])
  const widths = header.map((_, column) => Math.max(...[header, ...rows].map((row) => row[column]?.length ?? 0)))
  return [header, ...rows]
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

function formatTime(time: Date | null): string {
  return time === null ? '-' : time.toISOString().slice(0, 19).replace('T', ' ')
}

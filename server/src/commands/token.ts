import { type Scope, ScopeSchema } from '@plant-store/contract'
import { isAccountName } from '../accounts/account-name.ts'
import { createTokenStore, type Token } from '../accounts/token-store.ts'
import { parseDuration } from '../duration.ts'
import type { Settings } from '../settings.ts'
import { COMMAND_PATIENCE } from '../storage/retry-while-busy.ts'
import { UsageError } from './usage-error.ts'
import { withDatabase } from './with-database.ts'

/** The options of `token create`, as typed. */
export interface CreateTokenOptions {
  account: string
  scope?: string
  expires?: string
  label?: string
}

/** The year is then one of four digits, which SQLite, Prisma and JSON agree on. */
const MAX_EXPIRY = '999999d'

/** Makes a token and prints it, alone. */
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
  await withDatabase(settings.databaseUrl, async ({ prisma }) => {
    console.log((await createTokenStore(prisma, COMMAND_PATIENCE).create(token)).token)
  })
}

/** Prints the tokens, as a table for people or as JSON for programs. */
export async function listTokens(
  settings: Settings,
  { account, json }: { account?: string; json?: boolean },
): Promise<void> {
  await withDatabase(settings.databaseUrl, async ({ prisma }) => {
    const tokens = await createTokenStore(prisma, COMMAND_PATIENCE).list(account)
    console.log(json ? JSON.stringify(tokens, null, 2) : formatTable(tokens))
  })
}

/** Revokes a token. */
export async function revokeToken(settings: Settings, id: string): Promise<void> {
  await withDatabase(settings.databaseUrl, async ({ prisma }) => {
    const token = await createTokenStore(prisma, COMMAND_PATIENCE).revoke(id)
    if (!token) throw new UsageError(`there is no token with the id ${JSON.stringify(id)}; see: plant-store token list`)
    console.log(`revoked ${token.id} of the account ${JSON.stringify(token.account)}`)
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

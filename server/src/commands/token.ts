/** The commands that create, list and revoke tokens. */
import { type Scope, ScopeSchema } from '@plant-store/contract'
import { checkMigrated, type Database, openDatabase } from '@plant-store/prisma'
import { createNewToken, isAccountName, logTokenEvent, type Token, tokenState } from '../accounts/tokens.ts'
import { parseDuration } from '../durations.ts'
import { ownCommand } from '../installation.ts'
import { OperatorError } from '../operator-error.ts'
import { type Context, escapeInvisible } from './context.ts'

/** How long a command waits for a locked database, in milliseconds: longer than a request, since no client waits. */
const PATIENCE = 30_000
/** Keeps the year at four digits, which databases and JSON agree on. */
const MAX_EXPIRY_DAYS = 999_999
/** What is printed of a new token as JSON. */
const CREATED_FIELDS = ['token', 'id', 'account', 'scopes', 'expiresAt', 'label']

/** The options of the commands. */
export interface TokenOptions {
  account?: string
  scope?: Scope[]
  expires?: Date
  label?: string
  json?: boolean
  active?: boolean
}

/** Creates a token and prints nothing else. */
export async function createToken(
  { settings, logger, print }: Context,
  { account, scope, expires, label, json }: TokenOptions,
): Promise<void> {
  if (account === undefined) throw new OperatorError('name the account that the token belongs to with --account')
  if (!isAccountName(account)) throw new OperatorError('--account must be 1 to 200 visible characters')
  await withTokens(settings.databaseUrl, async (tokens) => {
    const created = await createNewToken(tokens, { account, scopes: scope, expiresAt: expires, label })
    logTokenEvent(logger, 'token created', created)
    await print(json ? JSON.stringify(created, CREATED_FIELDS, 2) : created.token)
  })
}

/** Prints the tokens, as a table for people or as JSON for programs. */
export async function listTokens({ settings, print }: Context, { account, active, json }: TokenOptions): Promise<void> {
  await withTokens(settings.databaseUrl, async (store) => {
    const tokens = (await store.list(account)).filter((token) => !active || tokenState(token) === 'active')
    const described = tokens.map((token) => ({ ...token, ...showTimes(token), state: tokenState(token) }))
    await print(json ? JSON.stringify(described, null, 2) : formatTable(tokens))
  })
}

/** Revokes a token. One that is revoked already keeps its time, and is not logged again, however many do it together. */
export async function revokeToken({ settings, logger, print }: Context, id: string): Promise<void> {
  await withTokens(settings.databaseUrl, async (tokens) => {
    const token = await tokens.revoke(id)
    if (!token) {
      throw new OperatorError(`token "${id}" does not exist; list them with: ${ownCommand} token list`, 1)
    }
    const name = `${token.id} of the account "${token.account}"`
    if (token.isNew) logTokenEvent(logger, 'token revoked', token)
    await print(token.isNew ? `revoked ${name}` : `${name} was already revoked at ${showTimes(token).revokedAt}`)
  })
}

/**
 * Opens the tokens for one command and closes it in any case. It neither creates nor migrates a database: a
 * mistyped DATABASE_URL must not become a second one, and listing tokens must not change the one that a server uses.
 *
 * @throws {StorageError} if it does not exist, or needs a migration
 */
async function withTokens(databaseUrl: string, run: (tokens: Database['tokens']) => Promise<void>): Promise<void> {
  await checkMigrated(databaseUrl)
  const database = await openDatabase(databaseUrl, PATIENCE)
  try {
    await run(database.tokens)
  } finally {
    // What is committed is in the log, which the next process that opens the database writes back.
    await database.close().catch(() => {})
  }
}

/** Reads `--scope`. */
export function parseScopes(text: string): Scope[] {
  const scopes = ScopeSchema.array().min(1).safeParse(text.split(',').filter(Boolean))
  if (scopes.success) return [...new Set(scopes.data)]
  throw new OperatorError(`--scope must be ${ScopeSchema.options.join(' or ')}, or both with a comma between`)
}

/** Reads `--expires`. */
export function parseExpiry(text: string): Date {
  const duration = parseDuration(text, MAX_EXPIRY_DAYS)
  if (duration !== undefined) return new Date(Date.now() + duration)
  throw new OperatorError(`--expires must be a time between 1ms and ${MAX_EXPIRY_DAYS}d, such as 12h or 90d`)
}

function formatTable(tokens: readonly Token[]): string {
  const header = ['ID', 'STATE', 'ACCOUNT', 'SCOPES', 'CREATED', 'EXPIRES', 'REVOKED', 'LABEL']
  const rows = tokens.map((token) => [
    token.id,
    tokenState(token),
    token.account,
    token.scopes.join(','),
    ...Object.values(showTimes(token)).map((time) => time?.slice(0, 19).replace('T', ' ') ?? '-'),
    token.label ?? '',
  ])
  const cells = [header, ...rows].map((row) => row.map(escapeInvisible))
  const widths = header.map((_, column) => cells.reduce((width, row) => Math.max(width, row[column]?.length ?? 0), 0))
  const lines = cells.map((row) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  '))
  return lines.map((line) => line.trimEnd()).join('\n')
}

/** Returns the times of a token as text in UTC. One that was written by hand may be `invalid`. */
function showTimes({ createdAt, expiresAt, revokedAt }: Token) {
  const show = (time: Date | null) => time && (time.toJSON() ?? 'invalid')
  return { createdAt: show(createdAt), expiresAt: show(expiresAt), revokedAt: show(revokedAt) }
}

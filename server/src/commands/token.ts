/** The commands that create, list, revoke and prune tokens. */
import { type Scope, ScopeSchema } from '@plant-store/contract'
import { checkMigrated, openDatabase } from '@plant-store/prisma'
import type { Logger } from 'pino'
import {
  createTokenStore,
  isAccountName,
  logTokenEvent,
  type NewToken,
  type Token,
  type TokenStore,
  tokenState,
} from '../accounts/token-store.ts'
import { parseDuration } from '../settings.ts'
import {
  announce,
  CommandError,
  type Context,
  formatJson,
  OutputError,
  print,
  toPrintable,
  UsageError,
} from './console.ts'

/** How long a command waits for a locked database, in milliseconds: longer than a request, since no client waits. */
const PATIENCE = 30_000
/** Keeps the year at four digits, which databases and JSON agree on. */
const MAX_EXPIRY = '999999d'
const MAX_AGE = '36500d'
/** How many tokens a statement deletes: servers wait until it ends. */
const BATCH = 500

/** The options of the commands, as typed in. */
export interface TokenOptions {
  account?: string
  scope?: string
  expires?: string
  label?: string
  json?: boolean
  active?: boolean
}

type CreatedToken = Token & { token: string }

/** Creates a token and prints nothing else. A token that cannot be printed is revoked. */
export async function createToken(
  { settings, logger, output }: Context,
  { account, scope, expires, label, json }: TokenOptions,
): Promise<void> {
  if (account === undefined) throw new UsageError('name the account that the token belongs to with --account')
  if (!isAccountName(account)) throw new UsageError('--account must be 1 to 200 visible characters')
  const scopes = scope === undefined ? undefined : parseScopes(scope)
  const expiresAt =
    expires === undefined ? undefined : new Date(Date.now() + parseTime('--expires', expires, MAX_EXPIRY))
  await withTokens(settings.databaseUrl, (tokens) =>
    createPrinted(tokens, { account, scopes, expiresAt, label }, logger, (created) => {
      const { token, id, expiresAt, label } = created
      print(json ? formatJson({ token, id, account, scopes: created.scopes, expiresAt, label }) : token, output)
    }),
  )
}

/**
 * Creates a token and prints it. One that cannot be printed is revoked.
 *
 * @throws OutputError that says what became of the token
 */
export async function createPrinted(
  tokens: TokenStore,
  token: NewToken,
  logger: Logger,
  printToken: (created: CreatedToken) => void,
): Promise<void> {
  const created = await tokens.create(token)
  logTokenEvent(logger, 'token created', created)
  try {
    printToken(created)
  } catch (error) {
    const { message } = error as Error
    const revoked = await tokens.revoke(created.id).catch(() => undefined)
    if (!revoked)
      throw new OutputError(`revoke the token with "plant-store token revoke ${created.id}", since ${message}`)
    logTokenEvent(logger, 'token revoked', revoked)
    throw new OutputError(`the token is revoked, since ${message}`)
  }
}

/** Prints the tokens, as a table for people or as JSON for programs. */
export async function listTokens(
  { settings, output }: Context,
  { account, active, json }: TokenOptions,
): Promise<void> {
  await withTokens(settings.databaseUrl, async (store) => {
    const tokens = (await store.list(account)).filter((token) => !active || tokenState(token) === 'active')
    const text = json
      ? formatJson(tokens.map((token) => ({ ...token, state: tokenState(token) })))
      : formatTable(tokens)
    print(text, output)
  })
}

/** Revokes a token. One that is revoked already keeps its time, and is not logged again. */
export async function revokeToken({ settings, logger, output }: Context, id: string): Promise<void> {
  const begin = new Date()
  await withTokens(settings.databaseUrl, async (tokens) => {
    const token = await tokens.revoke(id)
    if (!token?.revokedAt) {
      throw new CommandError(`token "${toPrintable(id)}" does not exist; list them with: plant-store token list`)
    }
    const name = `${token.id} of the account "${toPrintable(token.account)}"`
    if (token.revokedAt < begin) {
      announce(`${name} is revoked since ${token.revokedAt.toISOString()}`, output)
      return
    }
    logTokenEvent(logger, 'token revoked', token)
    announce(`revoked ${name}`, output)
  })
}

/** Deletes tokens that expired or were revoked long ago, and prints how many. A dry run prints them instead. */
export async function pruneTokens(
  { settings, logger, output }: Context,
  { olderThan, dryRun }: { olderThan: string; dryRun?: boolean },
): Promise<void> {
  const before = new Date(Date.now() - parseTime('--older-than', olderThan, MAX_AGE))
  await withTokens(settings.databaseUrl, async (tokens) => {
    const ended = await tokens.listEnded(before)
    const [noun, verb] = ended.length === 1 ? ['token', 'was'] : ['tokens', 'were']
    const what = `${ended.length} ${noun} that expired or ${verb} revoked before ${before.toISOString()}`
    if (dryRun) {
      print(`${formatTable(ended)}\n\n${what} would be deleted`, output)
      return
    }
    for (let start = 0; start < ended.length; start += BATCH) {
      const batch = ended.slice(start, start + BATCH)
      await tokens.delete(batch.map(({ id }) => id))
      for (const token of batch) logTokenEvent(logger, 'token pruned', token)
    }
    announce(`deleted ${what}`, output)
  })
}

/**
 * Opens the token store for one command and closes it in any case. It neither creates nor migrates a database: a mistyped
 * DATABASE_URL must not become a second one, and listing tokens must not change the one that a server uses.
 *
 * @throws DatabaseError if it does not exist, or needs a migration
 */
async function withTokens(databaseUrl: string, run: (tokens: TokenStore) => Promise<void>): Promise<void> {
  await checkMigrated(databaseUrl)
  const database = await openDatabase(databaseUrl, { patience: PATIENCE })
  try {
    await run(createTokenStore(database.tokens))
  } finally {
    // What is committed is in the log, which the next process that opens the database writes back.
    await database.close().catch(() => {})
  }
}

function parseScopes(text: string): Scope[] {
  const scopes = ScopeSchema.array().min(1).safeParse(text.split(',').filter(Boolean))
  if (scopes.success) return [...new Set(scopes.data)]
  throw new UsageError(`--scope must be ${ScopeSchema.options.join(' or ')}, or both with a comma between`)
}

/** Returns milliseconds. */
function parseTime(option: string, text: string, max: string): number {
  const duration = parseDuration(text, max)
  if (duration !== undefined) return duration
  throw new UsageError(`${option} must be a time between 1ms and ${max}, such as 12h or 90d`)
}

function formatTable(tokens: readonly Token[]): string {
  const header = ['ID', 'STATE', 'ACCOUNT', 'SCOPES', 'CREATED', 'EXPIRES', 'REVOKED', 'LABEL']
  const rows = tokens.map((token) => [
    token.id,
    tokenState(token),
    token.account,
    token.scopes.join(','),
    formatTime(token.createdAt),
    formatTime(token.expiresAt),
    formatTime(token.revokedAt),
    token.label ?? '',
  ])
  const cells = [header, ...rows].map((row) => row.map(toPrintable))
  const widths = header.map((_, column) => Math.max(...cells.map((row) => row[column]?.length ?? 0)))
  const lines = cells.map((row) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  '))
  return lines.map((line) => line.trimEnd()).join('\n')
}

function formatTime(time: Date | null): string {
  return time === null ? '-' : time.toISOString().slice(0, 19).replace('T', ' ')
}

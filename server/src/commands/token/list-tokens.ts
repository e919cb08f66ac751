import { type Token, tokenState } from '../../accounts/token-store.ts'
import type { Settings } from '../../settings/settings.ts'
import { print } from '../console/output.ts'
import { formatJson, toPrintable } from '../console/printable.ts'
import { withTokens } from './with-tokens.ts'

/** The options of `token list`, as typed in. */
export interface ListTokensOptions {
  account?: string
  active?: boolean
  json?: boolean
}

/** Prints the tokens, as a table for people or as JSON for programs. */
export async function listTokens(settings: Settings, { account, active, json }: ListTokensOptions): Promise<void> {
  await withTokens(settings.databaseUrl, async (store) => {
    const tokens = (await store.list(account)).filter((token) => !active || tokenState(token) === 'active')
    print(json ? formatJson(tokens.map((token) => ({ ...token, state: tokenState(token) }))) : formatTokens(tokens))
  })
}

/** Formats tokens as a table. */
export function formatTokens(tokens: readonly Token[]): string {
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
  return cells
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

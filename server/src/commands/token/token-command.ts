import type { Command } from 'commander'
import { examples } from '../console/help.ts'
import { withSettings } from '../console/with-settings.ts'
import { type CreateTokenOptions, createToken } from './create-token.ts'
import { type ListTokensOptions, listTokens } from './list-tokens.ts'
import { type PruneTokensOptions, pruneTokens } from './prune-tokens.ts'
import { revokeToken } from './revoke-token.ts'

/** Adds `token` and its commands. */
export function addTokenCommand(program: Command): void {
  const token = program
    .command('token')
    .description('create, list, revoke and prune the tokens of accounts')
    .addHelpText('after', examples('plant-store token create --account me', 'plant-store token list'))
  token
    .command('create')
    .description('create a token; standard output is the token alone')
    // Not a required option: Commander would report that it is missing instead of what was mistyped.
    .option('--account <name>', 'the account that the token belongs to; required')
    .option('--scope <scopes>', 'what it may do: read, write or read,write (default: both)')
    .option('--expires <time>', 'when it expires: 30s, 15m, 12h, 90d (default: never)')
    .option('--label <text>', 'a note for people')
    .option('--json', 'print it as JSON, with its id, account, scopes, expiresAt and label')
    .addHelpText(
      'after',
      examples(
        'TOKEN=$(plant-store token create --account me)',
        'plant-store token create --account shop --scope read --expires 90d --label "price list"',
        'plant-store token create --account me --json',
      ),
    )
    .action((options: CreateTokenOptions) => withSettings((settings) => createToken(settings, options)))
  token
    .command('list')
    .description('list tokens, without their secrets, which are not stored')
    .option('--account <name>', 'only those of this account')
    .option('--active', 'only those that are neither expired nor revoked')
    .option('--json', 'as JSON, for programs')
    .addHelpText('after', examples('plant-store token list', 'plant-store token list --account me --active --json'))
    .action((options: ListTokensOptions) => withSettings((settings) => listTokens(settings, options)))
  token
    .command('revoke')
    .argument('<id>', 'the id that "token list" shows')
    .description('revoke a token; it is rejected within one second')
    .addHelpText('after', examples('plant-store token revoke ID'))
    .action((id: string) => withSettings((settings) => revokeToken(settings, id)))
  token
    .command('prune')
    .description('delete the tokens that expired or were revoked long ago; their plants stay')
    .option('--older-than <time>', 'how long ago: 12h, 90d', '30d')
    .option('--dry-run', 'only list them')
    .addHelpText('after', examples('plant-store token prune --dry-run', 'plant-store token prune --older-than 90d'))
    .action((options: PruneTokensOptions) => withSettings((settings) => pruneTokens(settings, options)))
}

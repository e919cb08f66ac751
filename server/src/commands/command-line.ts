import { DatabaseError, explainDatabaseError, loadSettingsFile } from '@plant-store/prisma'
import { Command, CommanderError } from 'commander'
import { StartError } from '../http/listen/ports.ts'
import { type Environment, readSettings, type Settings, SettingsError } from '../settings/settings.ts'
import { createLogger } from '../telemetry/logger.ts'
import { readVersion } from '../version.ts'
import { backup } from './backup.ts'
import { hideUrls } from './console/hide-urls.ts'
import { OutputError, print } from './console/output.ts'
import { UsageError } from './console/usage-error.ts'
import { type CopyOptions, copy } from './copy.ts'
import { migrate } from './migrate.ts'
import { onEndingSignal, untilSignal } from './signals.ts'
import { type CreateTokenOptions, createToken, listTokens, revokeToken } from './token.ts'

const EXIT_FAILURE = 1
const EXIT_USAGE = 2

const program = new Command('plant-store')
  .description('Runs the plant store and manages its tokens and its database.')
  .showSuggestionAfterError()
  .addHelpText(
    'after',
    examples('plant-store serve', 'plant-store token create --account me', 'plant-store token create --help'),
  )
  .configureOutput({
    writeOut: (text) => print(text.trimEnd()),
    outputError: (text, write) => write(hideUrls(text)),
  })
  .version(readVersion())
  .exitOverride()

program
  .command('serve')
  .description('serve the API until SIGTERM or SIGINT')
  .addHelpText('after', examples('plant-store serve', 'PORT=8080 LOG_LEVEL=debug plant-store serve'))
  .action(() => {
    // Exit code 0 as in a later shutdown: stopping a server during startup is not a failure.
    onEndingSignal(() => process.exit(0))
    return withSettings(async (settings) => {
      // The other commands do not load the server.
      const { serve } = await import('./serve.ts')
      await serve(settings, await createLogger(settings.logLevel))
    }, process.env)
  })

const token = program
  .command('token')
  .description('create, list and revoke the tokens of accounts')
  .addHelpText('after', examples('plant-store token create --account me', 'plant-store token list'))
token
  .command('create')
  .description('create a token; standard output is the token alone')
  .requiredOption('--account <name>', 'the account that the token belongs to')
  .option('--scope <scopes>', 'what it may do: read, write or read,write (default: both)')
  .option('--expires <time>', 'when it expires: 30s, 15m, 12h, 90d (default: never)')
  .option('--label <text>', 'a note for people')
  .addHelpText(
    'after',
    examples(
      'TOKEN=$(plant-store token create --account me)',
      'plant-store token create --account shop --scope read --expires 90d --label "price list"',
    ),
  )
  .action((options: CreateTokenOptions) => withSettings((settings) => createToken(settings, options)))
token
  .command('list')
  .description('list tokens, without their secrets, which are not stored')
  .option('--account <name>', 'only those of this account')
  .option('--json', 'as JSON, for programs')
  .addHelpText('after', examples('plant-store token list', 'plant-store token list --account me --json'))
  .action((options: { account?: string; json?: boolean }) => withSettings((settings) => listTokens(settings, options)))
token
  .command('revoke')
  .argument('<id>', 'the id that "token list" shows')
  .description('revoke a token; it is rejected within one second')
  .addHelpText('after', examples('plant-store token revoke ID'))
  .action((id: string) => withSettings((settings) => revokeToken(settings, id)))

program
  .command('migrate')
  .description('create the database, or apply the migrations that it lacks')
  .addHelpText('after', examples('plant-store migrate'))
  .action(() => withSettings((settings) => untilSignal((signal) => migrate(settings, signal))))

program
  .command('backup')
  .argument('<file>', 'where to write the copy; the file must not exist')
  .description('copy the database consistently, even while the server writes to it')
  .addHelpText('after', examples('plant-store backup "plants-$(date +%F).db"'))
  .action((file: string) => withSettings((settings) => untilSignal((signal) => backup(settings, file, signal))))

program
  .command('copy')
  .option('--from <url>', 'the database to copy, which is only read (default: DATABASE_URL)')
  .option('--to <url>', 'the database to copy to, created if it does not exist (default: DATABASE_URL)')
  .description('copy tokens and plants to another database, such as from SQLite to PostgreSQL')
  .addHelpText(
    'after',
    `
The target's servers must be stopped, and it must be empty or have an earlier copy. A copy that was interrupted continues
when the same command runs again. So the source can serve during a first copy; stop it and run the command again for the
rest, which takes less time.

DATABASE_URL is the safe place for a URL with a password: other users may see the arguments of a process. PGPASSWORD and
~/.pgpass work too.
${examples(
  'plant-store copy --to postgresql://localhost/plants',
  'plant-store copy --from postgresql://localhost/plants --to "file:$PWD/plants.db"',
)}`,
  )
  .action((options: CopyOptions) =>
    withSettings((settings) => untilSignal((signal) => copy(settings, options, signal))),
  )

try {
  loadSettingsFile()
  await program.parseAsync()
} catch (error) {
  process.exitCode = report(error)
}

/** Runs a command with the settings of the environment. Every failure of the database becomes a DatabaseError. */
async function withSettings(
  run: (settings: Settings) => Promise<void>,
  // Only `serve` sends traces.
  environment: Environment = { ...process.env, OTEL_SDK_DISABLED: 'true' },
): Promise<void> {
  const settings = readSettings(environment)
  try {
    await run(settings)
  } catch (error) {
    throw await explainDatabaseError(error, settings.databaseUrl)
  }
}

/** Formats the examples at the end of a command's help. */
function examples(...lines: string[]): string {
  return `\n${lines.length === 1 ? 'Example' : 'Examples'}:\n${lines.map((line) => `  ${line}`).join('\n')}\n`
}

/** Prints an error and returns the exit code. */
function report(error: unknown): number {
  // Commander has printed its own errors.
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : EXIT_USAGE
  if (error instanceof SettingsError || error instanceof UsageError) {
    console.error(`plant-store: ${error.message}`)
    return EXIT_USAGE
  }
  if (error instanceof OutputError && error.isReaderGone) return 0
  const expected = error instanceof DatabaseError || error instanceof StartError || error instanceof OutputError
  console.error(expected ? `plant-store: ${error.message}` : error)
  return EXIT_FAILURE
}

import { DatabaseError, DEFAULT_DATABASE_URL } from '@plant-store/prisma'
import { Command, CommanderError } from 'commander'
import { StartError } from '../http/listen/ports.ts'
import { loadSettings, readVersion } from '../installation.ts'
import { SettingsError } from '../settings/settings.ts'
import { backup } from './backup.ts'
import { CommandError, UsageError } from './console/errors.ts'
import { examples } from './console/help.ts'
import { hideUrls } from './console/hide-urls.ts'
import { OutputError, print } from './console/output.ts'
import { withSettings, withSettingsAndLog } from './console/with-settings.ts'
import { type CopyOptions, copy } from './copy.ts'
import { migrate } from './migrate.ts'
import { onEndingSignal, untilSignal } from './signals.ts'
import { addTokenCommand } from './token/token-command.ts'

const EXIT_FAILURE = 1
const EXIT_USAGE = 2
/** Errors whose message is for the operator; others are faults, and show where. */
const EXPECTED = [CommandError, DatabaseError, OutputError, StartError]

const program = new Command('plant-store')
  .description('Runs the plant store and manages its tokens and its database.')
  .showSuggestionAfterError()
  .addHelpText(
    'after',
    examples('plant-store serve', 'plant-store token create --account me', 'plant-store token create --help'),
  )
  .configureOutput({
    writeOut: (text) => print(text.trimEnd()),
    outputError: (text, write) => write(hideUrls(text.replace(/^error:/, 'plant-store:'))),
  })
  .version(readVersion())
  .exitOverride()

program
  .command('serve')
  .description('serve the API until SIGTERM or SIGINT')
  .addHelpText('after', examples('plant-store serve', 'PORT=8080 ACCESS_LOG=on plant-store serve'))
  .action(() => {
    // Exit code 0 as in a later shutdown: stopping a server during startup is not a failure.
    onEndingSignal(() => process.exit(0))
    return withSettingsAndLog(async (settings, logger) => {
      // The other commands do not load the server.
      const { serve } = await import('./serve.ts')
      await serve(settings, logger)
    })
  })

addTokenCommand(program)

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
Stop the servers of both. The target must be empty; if anything fails, it still is, and you can run the command again.

DATABASE_URL is the safe place for a URL with a password: other users may see the arguments of a process. PGPASSWORD and
~/.pgpass work too.
${examples(
  'plant-store copy --to postgresql://localhost/plants',
  'plant-store copy --from postgresql://localhost/plants --to "file:$PWD/plants.db"',
)}`,
  )
  .action((options: CopyOptions) =>
    // Where both are given, DATABASE_URL is not used, and may be missing in production too.
    withSettings(
      (settings) => untilSignal((signal) => copy(settings, options, signal)),
      options.from && options.to ? { DATABASE_URL: DEFAULT_DATABASE_URL } : {},
    ),
  )

try {
  loadSettings()
  await program.parseAsync()
} catch (error) {
  process.exitCode = report(error)
}

/** Prints an error and returns the exit code. */
function report(error: unknown): number {
  // Commander has printed its own errors.
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : EXIT_USAGE
  if (error instanceof SettingsError || error instanceof UsageError || isInvalidAddress(error)) {
    console.error(`plant-store: ${error.message}`)
    return EXIT_USAGE
  }
  if (error instanceof OutputError && error.isReaderGone) return 0
  const isExpected = EXPECTED.some((type) => error instanceof type)
  console.error(isExpected ? `plant-store: ${(error as Error).message}` : error)
  return EXIT_FAILURE
}

/** Returns whether no restart helps against an error of HOST or PORT. */
function isInvalidAddress(error: unknown): error is StartError {
  const code = error instanceof StartError && (error.cause as NodeJS.ErrnoException | undefined)?.code
  return code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND' || code === 'EACCES'
}

import { inspect } from 'node:util'
import { StorageError } from '@plant-store/prisma'
import { Command, CommanderError } from 'commander'
import { ownVersion } from '../installation.ts'
import { OperatorError } from '../operator-error.ts'
import { type Environment, readSettings } from '../settings.ts'
import { loadSettingsFile } from '../settings-file.ts'
import { createLog, type LogStream } from '../telemetry/log.ts'
import { type Context, createProgress, escapeInvisible } from './context.ts'
import { backup, migrate } from './database.ts'
import { checkReadiness } from './ready.ts'
import { createToken, listTokens, parseExpiry, parseScopes, revokeToken } from './token.ts'

const EXIT_FAILURE = 1
const EXIT_USAGE = 2

/** Where a command line runs, if not in a process of its own. */
export interface Surroundings {
  /** Default: the environment of the process, with the settings of the file `.env`. */
  environment?: Environment
  /** Default: those of the process. */
  stdout?: LogStream
  stderr?: LogStream
}

/** Runs a command to its end, prints what it says, and returns the exit code. */
export async function runCommandLine(
  args: readonly string[],
  { environment, stdout = process.stdout, stderr = process.stderr }: Surroundings = {},
): Promise<number> {
  // A failed write is an error of the command that prints; one to standard error can be reported nowhere.
  for (const stream of [stdout, stderr]) stream.on('error', () => {})
  try {
    const program = createProgram({ environment: environment ?? loadSettingsFile(), stdout, stderr })
    await program.parseAsync(args, { from: 'user' })
    return 0
  } catch (error) {
    // Commander has printed its own errors.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : EXIT_USAGE
    // Any other error is a fault, and shows where.
    const isExpected = error instanceof OperatorError || error instanceof StorageError
    const text = isExpected ? `plant-store: ${error.message}` : inspect(error)
    stderr.write(`${text}\n`)
    return error instanceof OperatorError ? error.exitCode : EXIT_FAILURE
  }
}

function createProgram(surroundings: Required<Surroundings>): Command {
  const { stdout, stderr } = surroundings
  const run = createRun(surroundings)
  const program = new Command('plant-store')
    .description('Runs the plant store and manages its tokens and database. Its settings are environment variables.')
    .showSuggestionAfterError()
    .configureOutput({
      writeOut: (text) => stdout.write(text),
      writeErr: (text) => stderr.write(text),
      outputError: (text, write) => write(text.replace(/^error:/, 'plant-store:')),
    })
    .version(ownVersion)
    .exitOverride()
  program
    .command('serve')
    .description('serve the API until SIGTERM or SIGINT')
    // The other commands do not load it.
    .action(() => run(async (context) => (await import('./serve.ts')).serve(context), stdout))
  program
    .command('ready')
    .description('ask the admin port whether the server is ready; if not, it prints why')
    .action(() => run(checkReadiness))
  addTokenCommands(program, run)
  program
    .command('migrate')
    .description('apply missing migrations; a missing SQLite file is created')
    .option('--check', 'change nothing: exit with 0 if no migration is missing, otherwise with 1 and their names')
    .action((options) => run((context) => migrate(context, options)))
  program
    .command('backup')
    .description('copy a SQLite database to a file, even while a server writes to it')
    .argument('<file>', 'where to write the copy; the file must not exist')
    .action((file) => run((context) => backup(context, file)))
  return program
}

/**
 * Runs a command with the settings.
 *
 * @param log the stream of the log. Default: standard error
 */
type Run = (command: (context: Context) => Promise<void>, log?: LogStream) => Promise<void>

function createRun({ environment, stdout, stderr }: Required<Surroundings>): Run {
  return async (command, log = stderr) => {
    const settings = readSettings(environment)
    const { logger, flush } = await createLog(settings.logLevel, log)
    const { progress, end } = createProgress(stderr)
    if (log !== stderr) end()
    // It waits until the system has taken the text.
    const print = async (text: string) => {
      const lines = text.split('\n').map(escapeInvisible).join('\n')
      const cause = await new Promise<Error | null | undefined>((resolve) => stdout.write(`${lines}\n`, resolve))
      if (cause) throw new OperatorError(`standard output cannot be written: ${cause.message}`, 1, cause)
    }
    let isLogged = false
    try {
      await command({ settings, logger, print, progress })
    } finally {
      end()
      isLogged = await flush()
    }
    // Where it does not report what it did, such as creating a token, its caller finds out from the exit code.
    if (!isLogged && log === stderr)
      throw new OperatorError('done, but standard error has not taken the line that logs it', 1)
  }
}

function addTokenCommands(program: Command, run: Run): void {
  const token = program.command('token').description('create, list and revoke the tokens of accounts')
  token
    .command('create')
    .description('create a token; standard output is the token alone')
    // Not a required option: Commander would report that it is missing instead of what was mistyped.
    .option('--account <name>', 'the account that the token belongs to; required')
    .option('--scope <scopes>', 'what it may do: read, write or read,write (default: both)', parseScopes)
    .option('--expires <time>', 'how long it is valid, such as 30s, 15m, 12h or 90d (default: forever)', parseExpiry)
    .option('--label <text>', 'a note for people')
    .option('--json', 'print it as JSON, with its id, account, scopes, expiresAt and label')
    .action((options) => run((context) => createToken(context, options)))
  token
    .command('list')
    .description('list tokens, without their secrets, which are not stored')
    .option('--account <name>', 'only those of this account')
    .option('--active', 'only those that are neither expired nor revoked')
    .option('--json', 'print them as JSON')
    .action((options) => run((context) => listTokens(context, options)))
  token
    .command('revoke')
    .description('revoke a token; it is rejected within one second')
    .argument('<id>', 'the id that "token list" shows')
    .action((id) => run((context) => revokeToken(context, id)))
}

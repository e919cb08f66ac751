import path from 'node:path'
import { createNewToken, startServer } from '@plant-store/server'
import { type Finished, runProgram, startProgram } from '../programs.ts'
import { afterFile } from '../temporary.ts'
import { built } from './built.ts'

/** Returns an environment without the settings of this process. */
function createEnvironment(settings: Record<string, string>): NodeJS.ProcessEnv {
  const { PATH, HOME } = process.env
  return { PATH, HOME, ...settings }
}

/** Returns what runs the built command line: it starts in half the time that its sources take. */
export function commandLine(args: readonly string[]): string[] {
  return [process.execPath, built('server/dist/main.js'), ...args]
}

/** Runs a command to its end. */
export function runCommand(args: readonly string[], settings: Record<string, string> = {}): Promise<Finished> {
  return runProgram(commandLine(args), { env: createEnvironment(settings) })
}

/** Starts `plant-store serve` and waits until it is ready. */
export async function startServerProcess(settings: Record<string, string>) {
  const env = createEnvironment({ PORT: '0', SHUTDOWN_DELAY: '0', ...settings })
  const { pid, output, stop } = await startProgram(commandLine(['serve']), /"msg":"ready"/, { env })
  afterFile(() => stop('SIGKILL'))
  const settingOf = (name: string) => new RegExp(`"${name}":"([^"]+)"`).exec(output())?.[1]
  return {
    url: String(settingOf('url')),
    /** The private port; undefined if there is none. */
    adminUrl: settingOf('adminUrl'),
    pid,
    /** Returns everything printed so far. */
    output,
    signal: (signal: NodeJS.Signals) => void process.kill(pid, signal),
    /** Sends a signal and returns the exit code. */
    end: stop,
  }
}

/** Starts `plant-store serve` over a database of this name in a folder, with a token of each account; `token` is the first. */
export async function startWithToken(
  folder: string,
  name: string,
  environment: Record<string, string> = {},
  accounts: readonly string[] = ['alice'],
) {
  const DATABASE_URL = `file:${path.join(folder, `${name}.db`)}`
  const tokens = (await createTokens(DATABASE_URL, ...accounts)).map(({ token }) => token)
  const server = await startServerProcess({ DATABASE_URL, ...environment })
  return { server, token: tokens[0] ?? '', tokens }
}

/**
 * Creates a token of each account, and the database if there is none: in this process, so that a restart takes only the
 * time of the server.
 */
export async function createTokens(databaseUrl: string, ...accounts: readonly string[]) {
  const { tokens, close } = await startServer({ port: 0, databaseUrl, shutdownDelay: 0 })
  const created = await Promise.all(accounts.map((account) => createNewToken(tokens, { account })))
  await close()
  return created
}

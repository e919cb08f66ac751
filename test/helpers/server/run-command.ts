import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { startServer } from '@plant-store/server'
import { bound, collect, until } from '../programs.ts'
import { afterFile } from '../temporary.ts'
import { built } from './built.ts'

/** A migration may run, on a busy machine, in milliseconds. */
const STARTUP_TIMEOUT = 240_000

/** The result of a command. */
export interface CommandResult {
  exitCode: number | null
  stdout: string
  stderr: string
}

/** Starts the command line without the settings of this process's environment; `nofile` is the limit of open files. */
export function spawnCommand(
  args: readonly string[],
  environment: Record<string, string> = {},
  nofile?: number,
): ChildProcess {
  const { PATH = '', HOME = '' } = process.env
  const limit = nofile ? ['sh', '-c', `ulimit -n ${nofile}; exec "$@"`, 'sh'] : []
  const [program, ...parameters] = bound([...limit, ...commandLine(args)])
  const env = { PATH, HOME, ...environment }
  const child = spawn(program, parameters, { env, stdio: ['ignore', 'pipe', 'pipe'] })
  // A test that fails may leave processes behind.
  afterFile(() => child.kill('SIGKILL'))
  return child
}

/** Returns what runs the built command line: it starts in half the time that its sources take. */
export function commandLine(args: readonly string[]): string[] {
  return [process.execPath, built('server/dist/main.js'), ...args]
}

/** Runs a command to its end. */
export async function runCommand(
  args: readonly string[],
  environment?: Record<string, string>,
): Promise<CommandResult> {
  const child = spawnCommand(args, environment)
  const output = [child.stdout, child.stderr].map((stream) => text(stream as Readable))
  const [exitCode] = (await once(child, 'close')) as [number | null]
  const [stdout = '', stderr = ''] = await Promise.all(output)
  return { exitCode, stdout, stderr }
}

/** A server in another process. */
export type ServerProcess = Awaited<ReturnType<typeof startServerProcess>>

/** Starts `plant-store serve` and waits until it is ready. */
export async function startServerProcess(environment: Record<string, string>, nofile?: number) {
  const child = spawnCommand(['serve'], { PORT: '0', SHUTDOWN_DELAY: '0', ...environment }, nofile)
  const closed = once(child, 'close') as Promise<[number | null]>
  const output = collect(child.stdout, child.stderr)
  const end = () => child.exitCode ?? child.signalCode
  await until(() => end() !== null || output().includes('"msg":"ready"'), STARTUP_TIMEOUT)
  if (end() !== null) throw new Error(`the server ended with ${end()}:\n${output()}`)
  const settingOf = (name: string) => new RegExp(`"${name}":"([^"]+)"`).exec(output())?.[1]
  return {
    url: String(settingOf('url')),
    /** The private port; undefined if there is none. */
    adminUrl: settingOf('adminUrl'),
    pid: child.pid as number,
    /** Returns everything printed so far. */
    output,
    signal: (signal: NodeJS.Signals) => void child.kill(signal),
    /** Sends a signal and returns the exit code. */
    async end(signal: NodeJS.Signals = 'SIGTERM') {
      child.kill(signal)
      const [code] = await closed
      return code
    },
  }
}

/** Starts `plant-store serve` over a database of this name in a folder, with a token of each account; `token` is the first. */
export async function startWithToken(
  folder: string,
  name: string,
  environment: Record<string, string> = {},
  accounts: readonly string[] = ['alice'],
): Promise<{ server: ServerProcess; token: string; tokens: string[] }> {
  const DATABASE_URL = `file:${path.join(folder, `${name}.db`)}`
  // In this process, so that a restart takes only the time of the server.
  const store = await startServer({ port: 0, databaseUrl: DATABASE_URL, shutdownDelay: 0 })
  const created = await Promise.all(accounts.map((account) => store.tokens.create({ account })))
  await store.close()
  const server = await startServerProcess({ DATABASE_URL, ...environment })
  const tokens = created.map(({ token }) => token)
  return { server, token: tokens[0] ?? '', tokens }
}

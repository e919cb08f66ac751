import { type SpawnOptions, type SpawnOptionsWithoutStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdir, rmdir } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

/** The folder of the repository, with a slash at its end. */
export const root = fileURLToPath(new URL('../../', import.meta.url))

/** The shortest time between two looks, in milliseconds: later a tenth of the time so far, since looking takes CPU time. */
const INTERVAL = 20

/** Waits until a condition holds; fails after a timeout in milliseconds (default: 240,000, below that of a test). */
export async function until(holds: () => Promise<boolean> | boolean, timeout = 240_000): Promise<void> {
  // Without Vitest, outside of which programs use helpers too.
  const begin = performance.now()
  while (!(await holds())) {
    const elapsed = performance.now() - begin
    if (elapsed > timeout) throw new Error(`does not hold after ${timeout} ms: ${holds}`)
    await sleep(Math.min(Math.max(INTERVAL, elapsed / 10), 10 * INTERVAL))
  }
}

/** Finds a free port, for a program that does not accept port 0. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  await once(server.close(), 'close')
  return port
}

/** Collects the text of streams, and returns what returns all of it so far. */
export function collect(...streams: (Readable | null)[]): () => string {
  let output = ''
  for (const stream of streams) {
    stream?.setEncoding('utf8').on('data', (text: string) => {
      output += text
    })
  }
  return () => output
}

const SETPRIV = '/usr/bin/setpriv'

/**
 * Returns a command that Linux ends with this process, also where this one crashes or is killed: an interrupted run leaves
 * nothing running.
 *
 * @param signal as `setpriv` names it
 */
export function bound(command: readonly string[], signal = 'KILL'): [program: string, ...parameters: string[]] {
  const wrapped = existsSync(SETPRIV) ? [SETPRIV, '--pdeathsig', signal, ...command] : command
  const [program = '', ...parameters] = wrapped
  return [program, ...parameters]
}

/** How a program has ended; the exit code is null if it was killed. */
export interface Finished {
  exitCode: number | null
  stdout: string
  stderr: string
}

/** Runs a program to its end. It ends with this process. */
export async function runProgram(command: readonly string[], options: SpawnOptions = {}): Promise<Finished> {
  const [program, ...parameters] = bound(command)
  const child = spawn(program, parameters, { ...options, stdio: ['ignore', 'pipe', 'pipe'] })
  const closed = once(child, 'close')
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)])
  const [exitCode] = (await closed) as [number | null]
  return { exitCode, stdout, stderr }
}

/**
 * Runs a program to its end, and returns its standard output.
 *
 * @throws Error with all that it has printed, if it fails
 */
export async function runToSuccess(command: readonly string[], options?: SpawnOptions): Promise<string> {
  const { exitCode, stdout, stderr } = await runProgram(command, options)
  if (exitCode !== 0) throw new Error(`${command.join(' ')} failed:\n${stdout}${stderr}`)
  return stdout
}

/** A program that runs in the background. */
export type Program = Awaited<ReturnType<typeof startProgram>>

/**
 * Starts a program and waits until it is ready; throws with its output if it ends before. It ends with this process.
 *
 * @param ready what it prints then, or whether it responds
 * @param options those of `spawn`, and how long that may take, as of {@link until}
 */
export async function startProgram(
  command: readonly string[],
  ready: RegExp | (() => Promise<boolean>),
  { timeout, ...options }: SpawnOptionsWithoutStdio = {},
) {
  const [program, ...parameters] = bound(command)
  // A group of its own, which ends with all its processes.
  const child = spawn(program, parameters, { ...options, detached: true })
  /** Resolves with the exit code. */
  const closed = once(child, 'close').then(([code]) => code as number | null)
  /** Returns everything printed so far. */
  const output = collect(child.stdout, child.stderr)
  /** Ends it, and all that it has started. Returns its exit code. */
  const stop = async (signal: NodeJS.Signals = 'SIGTERM') => {
    if (child.exitCode === null && child.signalCode === null && child.pid) process.kill(-child.pid, signal)
    return await closed
  }
  const isReady = async () => (ready instanceof RegExp ? ready.test(output()) : await ready().catch(() => false))
  try {
    await until(async () => child.exitCode !== null || (await isReady()), timeout)
    if (child.exitCode !== null) throw new Error(`exit code ${child.exitCode}`)
  } catch (cause) {
    await stop('SIGKILL')
    throw new Error(`${command.join(' ')} does not start:\n${output()}`, { cause })
  }
  const dispose = async () => void (await stop())
  return { pid: Number(child.pid), closed, output, stop, [Symbol.asyncDispose]: dispose }
}

/** Whether something responds to requests of a URL, with a status that counts. */
export function responds(url: string, counts = (_status: number) => true): () => Promise<boolean> {
  return () =>
    fetch(url).then(
      ({ status }) => counts(status),
      () => false,
    )
}

/** How long another process may hold a lock, in milliseconds: it may install tools. */
const LOCK_TIMEOUT = 300_000

/**
 * Runs an action while no other process of a run does, such as that of another test file.
 *
 * @param lock the name of a folder that does not exist, in one that is removed after the run
 */
export async function exclusively<T>(lock: string, action: () => Promise<T>): Promise<T> {
  const acquire = async () => (await mkdir(lock)) === undefined
  await until(() => acquire().catch(() => false), LOCK_TIMEOUT)
  return await action().finally(() => rmdir(lock))
}

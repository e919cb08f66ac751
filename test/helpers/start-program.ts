import { type SpawnOptionsWithoutStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import { bound } from './bound.ts'
import { collect } from './collect.ts'
import { until } from './until.ts'

/** A program that runs in the background. */
export interface Program extends AsyncDisposable {
  pid: number
  /** Resolves with the exit code. */
  closed: Promise<number | null>
  /** Returns everything printed so far. */
  output(): string
  /** Ends it, and all that it has started. Returns its exit code. */
  stop(signal?: NodeJS.Signals): Promise<number | null>
}

/**
 * Starts a program and waits until it is ready; throws with its output if it ends before. It ends with this process.
 *
 * @param ready what it prints then, or whether it responds
 * @param options those of `spawn`, and how long that may take, in milliseconds (default: 60,000)
 */
export async function startProgram(
  command: readonly string[],
  ready: RegExp | (() => Promise<boolean>),
  { timeout = 60_000, ...options }: SpawnOptionsWithoutStdio = {},
): Promise<Program> {
  const [program, ...parameters] = bound(command)
  // A group of its own, which ends with all its processes.
  const child = spawn(program, parameters, { ...options, detached: true })
  const closed = once(child, 'close').then(([code]) => code as number | null)
  const output = collect(child.stdout, child.stderr)
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
  return async () => counts((await fetch(url)).status)
}

/**
 * Puts load on a server. wrk is used where it is installed, because it is cheap enough to saturate a bare server: a
 * load generator that is slower than the floor makes every share look better than it is. Otherwise, and for loads of an
 * exact number of requests, it is `sockets.ts`. Either way the floor's own use of its core is printed, so that a reader
 * sees whether it was saturated.
 */
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { pinned } from '../contender.ts'

/** What the requests do: list, create, or list and create a plant after nine lists or after each. */
export type Kind = 'list' | 'create' | 'mixed' | 'alternating'

/** The load on one server. */
export interface Load {
  readonly port: number
  /** Tokens of accounts, which take turns. */
  readonly tokens: readonly string[]
  readonly kind: Kind
  /** What is listed, one after the other. Default: the whole list. */
  readonly paths?: readonly string[] | undefined
  readonly connections: number
  /** How long a load of wrk takes, in seconds. */
  readonly seconds: number
  /** How many requests any other load has. */
  readonly requests: number
  /** The id of the first plant that is created. */
  readonly firstId: number
}

/** What a load has measured. */
export interface LoadResult {
  /** Responses with 200. */
  requests: number
  seconds: number
  failures: number
  /** Latencies in milliseconds. */
  p50: number
  p99: number
}

const WRK = '/usr/bin/wrk'
const here = (file: string): string => fileURLToPath(new URL(file, import.meta.url))

/** Puts a load on a server, from the other core. Where a list grows, each server gets as many requests. */
export async function runLoad(load: Load): Promise<LoadResult> {
  const { kind, connections, seconds } = load
  // wrk takes whole seconds.
  const usesWrk = existsSync(WRK) && !listsGrow(kind) && connections > 1 && seconds >= 1
  return usesWrk ? await runWrk(load) : await runSockets(load)
}

/** Returns whether a load lists what it creates. */
export function listsGrow(kind: Kind): boolean {
  return kind === 'mixed' || kind === 'alternating'
}

/** Returns the name of the load generator. */
export function loadGenerator(): string {
  return existsSync(WRK) ? 'wrk' : 'load/sockets.ts'
}

async function runWrk(load: Load): Promise<LoadResult> {
  const { port, tokens, kind, paths = ['/plants'], connections, seconds, firstId } = load
  const limits = ['-t1', `-c${connections}`, `-d${seconds}s`, '--timeout', '30s']
  const parameters = [...limits, '-s', here('wrk.lua'), `http://127.0.0.1:${port}`]
  const env = {
    LOAD_KIND: kind,
    LOAD_PATHS: paths.join(' '),
    LOAD_TOKENS: tokens.join(' '),
    LOAD_FIRST_ID: String(firstId),
  }
  return await run(WRK, parameters, env)
}

async function runSockets(load: Load): Promise<LoadResult> {
  return await run(process.execPath, [here('sockets.ts'), JSON.stringify(load)], {})
}

async function run(program: string, parameters: string[], env: Record<string, string>): Promise<LoadResult> {
  const [command, args] = pinned(1, program, parameters)
  const { stdout } = await promisify(execFile)(command, args, { env: { PATH: process.env['PATH'], ...env } })
  return JSON.parse(stdout.trim().split('\n').at(-1) ?? '')
}

import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { type Contender, pinned } from './contender.ts'
import type { Kind, LoadResult } from './load.ts'

const LOAD = fileURLToPath(new URL('load.ts', import.meta.url))

/** One line of the result. */
export interface Row {
  /** What was measured; empty if it is that of the row above. */
  what: string
  /** The contender. */
  name: string
  value: string
  unit: string
  /** Such as `>= 0.50`. */
  goal?: string
  passed?: boolean
  detail: string
}

/** Measures something and returns its rows. */
export type Scenario = (progress: (line: string) => void) => Promise<Row[]>

/** The load on each contender. */
export interface Plan {
  kind: Kind
  connections: number
  /** How many requests a round sends to a contender of this name. */
  requests(name: string): number
  rounds: number
}

/** The result for one contender: medians over the rounds. */
export interface Measure {
  name: string
  rate: number
  p50: number
  p99: number
  /** The rate as a share of the first contender's in the same round. */
  ratio: number
  /** The largest resident memory seen between rounds, in bytes. */
  memory: number
}

/** Ids that no request has used yet. */
let nextId = 1_000_000_000

/** Puts the same load on each contender in turn, round after round; the first round does not count. */
export async function playRounds(
  contenders: readonly Contender[],
  plan: Plan,
  progress: (line: string) => void,
): Promise<Measure[]> {
  const results = new Map<string, (LoadResult & { ratio: number; memory: number })[]>()
  for (let round = 0; round <= plan.rounds; round++) {
    let floor = 0
    for (const contender of contenders) {
      progress(`round ${round} of ${plan.rounds}: ${contender.name}`)
      const result = await runLoad(contender, plan)
      if (result.failures > 0) throw new Error(`${contender.name} failed ${result.failures} requests`)
      floor ||= result.rate
      const measured = { ...result, ratio: result.rate / floor, memory: contender.memory() }
      if (round > 0) results.set(contender.name, [...(results.get(contender.name) ?? []), measured])
    }
  }
  return [...results].map(([name, rounds]) => ({
    name,
    rate: median(rounds.map(({ rate }) => rate)),
    p50: median(rounds.map(({ p50 }) => p50)),
    p99: median(rounds.map(({ p99 }) => p99)),
    ratio: median(rounds.map(({ ratio }) => ratio)),
    memory: Math.max(...rounds.map(({ memory }) => memory)),
  }))
}

async function runLoad({ name, port, token }: Contender, { kind, connections, requests }: Plan): Promise<LoadResult> {
  const options = { port, token, kind, connections, requests: requests(name), firstId: nextId }
  nextId += options.requests
  const [command, args] = pinned(1, process.execPath, ['--import', 'tsx', LOAD, JSON.stringify(options)])
  const { stdout } = await promisify(execFile)(command, args)
  return JSON.parse(stdout)
}

/** The middle one of some numbers. */
export function median(numbers: readonly number[]): number {
  return [...numbers].sort((one, other) => one - other)[Math.floor(numbers.length / 2)] ?? Number.NaN
}

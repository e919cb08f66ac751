import type { Contender } from './contender.ts'
import { type Kind, runLoad } from './load/load.ts'

/** One line of the result. */
export interface Row {
  /** What was measured; empty if it is that of the row above. */
  what: string
  /** The contender. */
  name: string
  value: string
  unit: string
  /** Responses with 200 per second. */
  rate?: number
  /** Such as `>= 0.50`. */
  goal?: string
  passed?: boolean
  detail: string
}

/** A figure of the plant store, and the least or the most that it may be. */
interface Figure {
  what: string
  value: number
  digits: number
  unit: string
  min?: number | undefined
  max?: number | undefined
  detail?: string
}

/** Judges a figure. */
export function judge({ what, value, digits, unit, min, max, detail = '' }: Figure): Row {
  const measured = { what, name: 'plant-store', value: value.toFixed(digits), unit, detail }
  if (min !== undefined) return { ...measured, goal: `>= ${min}`, passed: value >= min }
  return max === undefined ? measured : { ...measured, goal: `<= ${max}`, passed: value <= max }
}

/** How much is measured. */
export interface Effort {
  /** How many rounds count. */
  rounds: number
  /** The share of the usual times, of the usual numbers of requests, and of a million plants. */
  share: number
}

/** What the benchmark takes. */
export const FULL: Effort = { rounds: 5, share: 1 }
/** Shows that a scenario runs; its figures mean nothing. */
export const BRIEF: Effort = { rounds: 1, share: 0.001 }

/** Measures something and returns its rows. */
export type Scenario = (progress: (line: string) => void, effort: Effort) => Promise<Row[]>

/** The load on each contender. */
export interface Plan {
  kind: Kind
  /** What is listed, see `Load`. */
  paths?: readonly string[]
  connections: number
  /** How many requests a round sends to a contender of this name, if their number is exact. */
  requests(name: string): number
  effort: Effort
  /** Reads the CPU time of the database of all contenders, in seconds. Default: it is in the server. */
  databaseTime?: (() => number) | undefined
}

/** The result for one contender: medians over the rounds. */
export interface Measure {
  name: string
  /** Responses with 200 per second. */
  rate: number
  /** Latencies in milliseconds. */
  p50: number
  p99: number
  /** The CPU time of a request in the server, user and system, in microseconds. */
  cpu: number
  /** The same in the round where it was least, which other work of the machine changes least. */
  leastCpu: number
  /** The CPU time of a request in the database, in microseconds. */
  databaseCpu: number
  /** The share of its core that the server used: less than 0.95 means that something else was slower. */
  busy: number
  /** The rate as a share of the first contender's in the same round. */
  rateRatio: number
  /** The first contender's CPU time of a request as a share of this one's. It holds on a busy machine too. */
  cpuRatio: number
  /** The largest resident memory seen between rounds, in bytes. */
  memory: number
}

type Round = Omit<Measure, 'name' | 'leastCpu'>

/** How long a round lasts for a contender, in seconds. */
const ROUND_SECONDS = 4
/** More ids than a round of this many seconds can use. */
const IDS_PER_ROUND = 1_000_000

/** Ids that no request has used yet. */
let nextId = 1_000_000_000

/** Puts the same load on each contender in turn, round after round; the first round does not count. */
export async function playRounds(
  contenders: readonly Contender[],
  plan: Plan,
  progress: (line: string) => void,
): Promise<Measure[]> {
  const results = new Map<string, Round[]>()
  for (let round = 0; round <= plan.effort.rounds; round++) {
    let first: Round | undefined
    for (const contender of contenders) {
      progress(`round ${round} of ${plan.effort.rounds}: ${contender.name}`)
      const measured = await playRound(contender, plan, first)
      first ??= measured
      if (round > 0) results.set(contender.name, [...(results.get(contender.name) ?? []), measured])
    }
  }
  return [...results].map(([name, rounds]) => {
    const keys = Object.keys(rounds[0] ?? {}) as (keyof Round)[]
    const medians = Object.fromEntries(keys.map((key) => [key, median(rounds.map((round) => round[key]))]))
    const leastCpu = Math.min(...rounds.map(({ cpu }) => cpu))
    const memory = Math.max(...rounds.map((round) => round.memory))
    return { ...(medians as unknown as Round), name, leastCpu, memory }
  })
}

async function playRound(contender: Contender, plan: Plan, first: Round | undefined): Promise<Round> {
  const { kind, paths, connections, effort, databaseTime = () => 0 } = plan
  const { name, port, token, tokens = [token] } = contender
  const requestCount = Math.ceil(plan.requests(name) * effort.share)
  const count = { seconds: ROUND_SECONDS * effort.share, requests: requestCount, firstId: nextId }
  nextId += IDS_PER_ROUND
  const before = { server: contender.cpuTime(), database: databaseTime() }
  const { requests, seconds, failures, p50, p99 } = await runLoad({ port, tokens, kind, paths, connections, ...count })
  if (failures > 0) throw new Error(`${name} failed ${failures} requests`)
  const used = { server: contender.cpuTime() - before.server, database: databaseTime() - before.database }
  const rate = requests / seconds
  const cpu = (used.server / requests) * 1e6
  return {
    rate,
    p50,
    p99,
    cpu,
    databaseCpu: (used.database / requests) * 1e6,
    busy: used.server / seconds,
    rateRatio: rate / (first?.rate ?? rate),
    cpuRatio: (first?.cpu ?? cpu) / cpu,
    memory: contender.memory(),
  }
}

/** The middle one of some numbers. */
export function median(numbers: readonly number[]): number {
  return [...numbers].sort((one, other) => one - other)[Math.floor(numbers.length / 2)] ?? Number.NaN
}

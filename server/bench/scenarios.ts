import { type ContenderName, startContender } from './contender.ts'
import { createDatabase, type Engine } from './database.ts'
import { listMillion } from './list-million.ts'
import type { Kind } from './load.ts'
import { type Measure, playRounds, type Row, type Scenario } from './rounds.ts'
import { startTime } from './start-time.ts'

const ROUNDS = 5

interface Comparison {
  what: string
  kind: Kind
  connections: number
  plants: number
  /** The rates of the others are shares of the first. */
  names: readonly ContenderName[]
  /** The share that the plant store must reach. */
  goal: number
  /** How many requests a round sends to each contender; the naive wiring is so slow that it gets fewer. */
  requests: number
  /** Default: SQLite. */
  engine?: Engine
}

function compare({ what, kind, connections, plants, names, goal, requests, engine }: Comparison): Scenario {
  return async (progress) => {
    const databases = await Promise.all(
      names.map((name) => createDatabase(name === 'floor' ? 0 : plants, progress, engine)),
    )
    const contenders = await Promise.all(
      names.map((name, index) => {
        const { token = '', url = '', file = '' } = databases[index] ?? {}
        return startContender(name, token, { DATABASE_URL: url, DATABASE_FILE: file, PLANTS: String(plants) })
      }),
    )
    try {
      const perRound = (name: string) => (name === 'naive' ? requests / 10 : requests)
      const measures = await playRounds(contenders, { kind, connections, requests: perRound, rounds: ROUNDS }, progress)
      const unit = names[0] === 'naive' ? 'x naive' : 'of first'
      return measures.map((measure, index) => ({ ...toRow(index === 0 ? what : '', measure, goal), unit }))
    } finally {
      await Promise.all(contenders.map((contender) => contender.stop()))
      await Promise.all(databases.map((database) => database.remove()))
    }
  }
}

function toRow(what: string, { name, rate, p50, p99, ratio, memory }: Measure, goal: number): Row {
  const judged = name === 'plant-store' ? { goal: `>= ${goal.toFixed(2)}`, passed: ratio >= goal } : {}
  const detail = `${Math.round(rate)}/s, p50 ${p50.toFixed(2)} ms, p99 ${p99.toFixed(2)} ms, ${Math.round(memory / 2 ** 20)} MB`
  return { what, name, value: ratio.toFixed(3), unit: 'of first', ...judged, detail }
}

/** The rate of creating with a million plants stored, against an empty store. */
const createWithMillion: Scenario = async (progress) => {
  const databases = [await createDatabase(0), await createDatabase(1_000_000, progress)]
  const contenders = await Promise.all(
    databases.map(({ token, url }) => startContender('plant-store', token, { DATABASE_URL: url })),
  )
  const named = contenders.map((contender, index) => ({ ...contender, name: index === 0 ? 'empty' : 'a million' }))
  try {
    const plan = { kind: 'create' as const, connections: 64, requests: () => 20_000, rounds: ROUNDS }
    const [empty, million] = await playRounds(named, plan, progress)
    if (!empty || !million) throw new Error('nothing was measured')
    const row = toRow('POST, 64 connections, a million plants stored', million, 0.9)
    return [toRow(row.what, empty, 0.9), { ...row, what: '', goal: '>= 0.90', passed: million.ratio >= 0.9 }]
  } finally {
    await Promise.all(contenders.map((contender) => contender.stop()))
    await Promise.all(databases.map((database) => database.remove()))
  }
}

/** Everything that can be measured, by the name that the command line takes. */
export const scenarios: Record<string, Scenario> = {
  list: compare({
    what: 'GET, 100 plants, 64 connections',
    kind: 'list',
    connections: 64,
    plants: 100,
    names: ['floor', 'plant-store', 'naive'],
    goal: 0.5,
    requests: 100_000,
  }),
  create: compare({
    what: 'POST, 64 connections, durable',
    kind: 'create',
    connections: 64,
    plants: 0,
    names: ['floor', 'plant-store', 'plain-sqlite', 'naive'],
    goal: 0.35,
    requests: 30_000,
  }),
  mixed: compare({
    what: '9 GET to 1 POST in one account, from 100 plants',
    kind: 'mixed',
    connections: 64,
    plants: 100,
    names: ['floor', 'plant-store', 'naive'],
    goal: 0.3,
    requests: 5_000,
  }),
  latency: compare({
    what: 'POST, 1 connection, against plain better-sqlite3',
    kind: 'create',
    connections: 1,
    plants: 0,
    names: ['plain-sqlite', 'plant-store', 'naive'],
    goal: 0.6,
    requests: 5_000,
  }),
  million: createWithMillion,
  'list-million': listMillion('sqlite'),
  start: startTime,
  'postgresql-list': compare({
    what: 'PostgreSQL: GET, 100 plants, 64 connections',
    kind: 'list',
    connections: 64,
    plants: 100,
    names: ['naive', 'plant-store', 'floor'],
    goal: 10,
    requests: 30_000,
    engine: 'postgresql',
  }),
  'postgresql-create': compare({
    what: 'PostgreSQL: POST, 64 connections, durable',
    kind: 'create',
    connections: 64,
    plants: 0,
    names: ['naive', 'plant-store', 'floor'],
    goal: 8,
    requests: 30_000,
    engine: 'postgresql',
  }),
  'postgresql-mixed': compare({
    what: 'PostgreSQL: 9 GET to 1 POST in one account, from 100 plants',
    kind: 'mixed',
    connections: 64,
    plants: 100,
    names: ['naive', 'plant-store', 'floor'],
    goal: 10,
    requests: 5_000,
    engine: 'postgresql',
  }),
  'postgresql-list-million': listMillion('postgresql'),
}

import { type Contender, type ContenderName, startContender } from './contender.ts'
import { type BenchDatabase, createDatabase, type Engine, postgresqlTime } from './database.ts'
import { listMillion } from './list-million.ts'
import { type Kind, listsGrow } from './load/load.ts'
import { judge, type Measure, playRounds, type Row, type Scenario } from './rounds.ts'
import { slowDisk } from './slow-disk.ts'
import { startTime } from './start-time.ts'

/** A first contender that uses less of its core waits for requests. */
const MIN_BUSY = 0.95

interface Comparison {
  what: string
  kind: Kind
  /** Default: 64. */
  connections?: number
  /** Default: none. */
  plants?: number
  /**
   * The figures of the others are shares of the first. Default: the empty app, the plant store,
   * the floor and the naive wiring.
   */
  names?: readonly ContenderName[]
  /** The share that the plant store must reach. */
  goal: number
  /** How many requests a round sends to each contender; the naive wiring is so slow that it gets fewer. */
  requests: number
  /** Default: SQLite. */
  engine?: Engine
}

function compare({
  what,
  kind,
  connections = 64,
  plants = 0,
  names = ['empty-app', 'plant-store', 'floor', 'naive'],
  goal,
  requests,
  engine,
}: Comparison): Scenario {
  return async (progress, effort) => {
    const databases = await Promise.all(
      names.map((name) => createDatabase(/^(floor|empty-app)$/.test(name) ? 0 : plants, progress, engine)),
    )
    const contenders = await Promise.all(
      names.map((name, index) => {
        const { token = '', url = '', file = '' } = databases[index] ?? {}
        return startContender(name, token, { DATABASE_URL: url, DATABASE_FILE: file, PLANTS: String(plants) })
      }),
    )
    try {
      const plan = {
        kind,
        connections,
        requests: (name: string) => (name === 'naive' ? requests / 10 : requests),
        effort,
        databaseTime: engine === 'postgresql' ? await postgresqlTime() : undefined,
      }
      const measures = await playRounds(contenders, plan, progress)
      // One connection waits for each response, and a list that grows for the database.
      const mayIdle = listsGrow(kind) || connections === 1
      const unit = names[0] === 'naive' ? 'x naive' : 'of first'
      const rows = measures.map((measure, index) => ({
        ...toRow(index === 0 ? what : '', measure, measure.name === 'plant-store' ? goal : undefined, mayIdle),
        unit,
      }))
      return mayIdle || !measures[0] ? rows : rejectIdleFirst(rows, measures[0])
    } finally {
      await Promise.all(contenders.map((contender) => contender.stop()))
      await Promise.all(databases.map((database) => database.remove()))
    }
  }
}

/** Fails goals where the first contender waited for requests: every share is better than it should be. */
function rejectIdleFirst(rows: Row[], { busy }: Measure): Row[] {
  if (!(busy < MIN_BUSY)) return rows
  return rows.map((row) =>
    row.goal === undefined
      ? row
      : { ...row, passed: false, detail: `PROVES NOTHING, the first one idled: ${row.detail}` },
  )
}

/** Judges by the lower of two shares, of the rate and of the CPU time of a request, or by the rate alone. */
function toRow(what: string, measure: Measure, goal?: number, byRate = false): Row {
  const { name, rate, rateRatio, cpuRatio } = measure
  const ratio = byRate || Number.isNaN(cpuRatio) ? rateRatio : Math.min(rateRatio, cpuRatio)
  const judged = goal === undefined ? {} : { goal: `>= ${goal.toFixed(2)}`, passed: ratio >= goal }
  return { what, name, value: ratio.toFixed(3), unit: 'of first', rate, ...judged, detail: describe(measure) }
}

function describe({ rate, rateRatio, cpu, cpuRatio, databaseCpu, busy, p50, p99, memory }: Measure): string {
  return [
    `${Math.round(rate)}/s (${rateRatio.toFixed(2)})`,
    `${cpu.toFixed(1)} us CPU (${cpuRatio.toFixed(2)})`,
    ...(databaseCpu >= 0.1 ? [`database ${databaseCpu.toFixed(1)} us`] : []),
    `core ${Math.round(busy * 100)} % busy`,
    `p50 ${p50.toFixed(2)} ms`,
    `p99 ${p99.toFixed(2)} ms`,
    `${Math.round(memory / 2 ** 20)} MB`,
  ].join(', ')
}

const IN_PROCESS = new URL('load/in-process.ts', import.meta.url).href
/** How many rounds of requests without a socket each server has, of which the one with the least CPU time counts. */
const IN_PROCESS_ROUNDS = 12

/** The CPU time of a request without a socket, which the hour changes less than the rate. */
function compareInProcess(what: string, kind: 'list' | 'create', plants: number, goal: number): Scenario {
  return async (progress, { rounds }) => {
    const database = await createDatabase(plants, progress)
    const { token, url } = database
    const environment = {
      ...{ DATABASE_URL: url, PLANTS: String(plants), NODE_OPTIONS: `--import=${IN_PROCESS}` },
      ...{ LOAD_TOKEN: token, LOAD_KIND: kind },
    }
    const names = ['empty-app', 'plant-store', 'floor'] as const
    const contenders = await Promise.all(names.map((name) => startContender(name, token, environment)))
    try {
      const least = names.map(() => Number.POSITIVE_INFINITY)
      for (let round = 0; round < Math.min(IN_PROCESS_ROUNDS, rounds * 3); round++) {
        for (const [index, contender] of contenders.entries()) {
          progress(`round ${round}: ${contender.name}`)
          least[index] = Math.min(least[index] ?? 0, await contender.report())
        }
      }
      const [empty = Number.NaN] = least
      return names.map((name, index) => {
        const figure = {
          what: index === 0 ? what : '',
          value: empty / (least[index] ?? 0),
          digits: 3,
          unit: 'of first',
        }
        const detail = `${least[index]?.toFixed(1)} us CPU`
        return { ...judge({ ...figure, ...(name === 'plant-store' && { min: goal }), detail }), name }
      })
    } finally {
      await Promise.all(contenders.map((contender) => contender.stop()))
      await database.remove()
    }
  }
}

const PAGES = 64

/**
 * The CPU time of a page: the first one, which all clients ask for, and pages of which each client asks for another.
 */
function pages(engine: Engine, limit: number, maxCpu?: number): Scenario {
  return async (progress, effort) => {
    const database = await createDatabase(PAGES * limit, progress, engine)
    const contender = await startContender('plant-store', database.token, { DATABASE_URL: database.url })
    const plan = { kind: 'list' as const, connections: 64, requests: () => 20_000, effort }
    const first = `/plants?limit=${limit}`
    try {
      const [same] = await playRounds([contender], { ...plan, paths: [first] }, progress)
      const [other] = await playRounds([contender], { ...plan, paths: await findPages(contender, first) }, progress)
      if (!same || !other) throw new Error('nothing was measured')
      const toFigure = ({ cpu }: Measure) => ({ value: cpu, digits: 0, unit: 'us CPU', max: maxCpu })
      const what = `${engine === 'sqlite' ? 'SQLite' : 'PostgreSQL'}: a page of ${limit}, 64 connections`
      return [
        judge({ what, ...toFigure(same), detail: describe(same) }),
        judge({ what: '  each another page', ...toFigure(other), detail: describe(other) }),
      ]
    } finally {
      await contender.stop()
      await database.remove()
    }
  }
}

/** Follows the links from a page to the last one, and returns their paths. */
async function findPages({ port, token }: Contender, first: string): Promise<string[]> {
  const paths = []
  for (let path: string | undefined = first; path; ) {
    paths.push(path)
    const { headers } = await fetch(`http://127.0.0.1:${port}${path}`, {
      headers: { authorization: `Bearer ${token}` },
    })
    const [, query] = /<([^<>]*)>; rel="next"/.exec(headers.get('link') ?? '') ?? []
    path = query && `/plants${query}`
  }
  return paths
}

/** The rate of creating with a million plants stored, against an empty store. */
const createWithMillion: Scenario = async (progress, effort) => {
  const databases = [await createDatabase(0), await createDatabase(1_000_000 * effort.share, progress)]
  const contenders = await Promise.all(
    databases.map(({ token, url }) => startContender('plant-store', token, { DATABASE_URL: url })),
  )
  const named = contenders.map((contender, index) => ({ ...contender, name: index === 0 ? 'empty' : 'a million' }))
  try {
    const plan = { kind: 'create' as const, connections: 64, requests: () => 20_000, effort }
    const [empty, million] = await playRounds(named, plan, progress)
    if (!empty || !million) throw new Error('nothing was measured')
    const what = 'POST, 64 connections, a million plants stored'
    return [toRow(what, empty), toRow('', million, 0.9)]
  } finally {
    await Promise.all(contenders.map((contender) => contender.stop()))
    await Promise.all(databases.map((database) => database.remove()))
  }
}

const PLANTS_OF_EACH = 10

/**
 * The rates of listing and creating, for accounts in turn of a million with ten plants each,
 * against those of a thousand.
 */
const millionAccounts: Scenario = async (progress, effort) => {
  const sizes = [1_000, 1_000_000].map((accounts) => Math.ceil(accounts * effort.share))
  const databases: BenchDatabase[] = []
  for (const size of sizes) databases.push(await createDatabase(PLANTS_OF_EACH * size, progress, 'sqlite', size))
  const contenders = await Promise.all(
    databases.map(({ token, url }) => startContender('plant-store', token, { DATABASE_URL: url })),
  )
  const named = contenders.map((contender, index) => ({
    ...contender,
    name: `${sizes[index]} accounts`,
    tokens: databases[index]?.tokens ?? [],
  }))
  try {
    const rows: Row[] = []
    for (const kind of ['list', 'create'] as const) {
      const plan = { kind, connections: 64, requests: () => 20_000, effort }
      const [few, many] = await playRounds(named, plan, progress)
      if (!few || !many) throw new Error('nothing was measured')
      const what = `${kind === 'list' ? 'GET' : 'POST'}, 64 connections, a thousand of all accounts in turn`
      // Each new plant of a batch is on pages of its own in three indexes, which all go into the log.
      rows.push(toRow(what, few), toRow('', many, kind === 'list' ? 0.8 : 0.5))
    }
    return rows
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
    names: ['empty-app', 'plant-store', 'floor', 'plain-sqlite', 'naive'],
    plants: 100,
    goal: 1.8,
    requests: 100_000,
  }),
  'list-2000': compare({
    what: 'GET, 2,000 plants, 64 connections',
    kind: 'list',
    plants: 2_000,
    goal: 1.5,
    requests: 10_000,
  }),
  create: compare({
    what: 'POST, 64 connections, durable',
    kind: 'create',
    names: ['empty-app', 'plant-store', 'floor', 'plain-sqlite', 'naive'],
    goal: 0.8,
    requests: 30_000,
  }),
  'list-cpu': compareInProcess('GET, 100 plants, without a socket', 'list', 100, 1.75),
  'create-cpu': compareInProcess('POST, durable, without a socket', 'create', 0, 0.95),
  mixed: compare({
    what: '9 GET to 1 POST in one account, from 100 plants',
    kind: 'mixed',
    plants: 100,
    names: ['floor', 'plant-store', 'naive'],
    goal: 0.3,
    requests: 5_000,
  }),
  alternating: compare({
    what: 'a POST between two GET in one account, from 100 plants',
    kind: 'alternating',
    plants: 100,
    names: ['floor', 'plant-store', 'naive'],
    goal: 0.2,
    requests: 1_000,
  }),
  latency: compare({
    what: 'POST, 1 connection, against plain node:sqlite',
    kind: 'create',
    connections: 1,
    names: ['plain-sqlite', 'plant-store', 'naive'],
    goal: 0.6,
    requests: 5_000,
  }),
  'page-20': pages('sqlite', 20, 120),
  'page-100': pages('sqlite', 100, 180),
  million: createWithMillion,
  'million-accounts': millionAccounts,
  'list-million': listMillion('sqlite'),
  start: startTime,
  'slow-disk': slowDisk(20),
  'fast-disk': slowDisk(0),
  'postgresql-list': compare({
    what: 'PostgreSQL: GET, 100 plants, 64 connections',
    kind: 'list',
    plants: 100,
    goal: 1.5,
    requests: 30_000,
    engine: 'postgresql',
  }),
  'postgresql-create': compare({
    what: 'PostgreSQL: POST, 64 connections, durable',
    kind: 'create',
    goal: 1,
    requests: 30_000,
    engine: 'postgresql',
  }),
  'postgresql-mixed': compare({
    what: 'PostgreSQL: 9 GET to 1 POST in one account, from 100 plants',
    kind: 'mixed',
    plants: 100,
    names: ['naive', 'plant-store', 'floor'],
    goal: 10,
    requests: 5_000,
    engine: 'postgresql',
  }),
  'postgresql-page-20': pages('postgresql', 20),
  'postgresql-page-100': pages('postgresql', 100),
  'postgresql-list-million': listMillion('postgresql'),
}

/**
 * Compares docs/production/monitoring with the metrics of fresh servers. In the long tests, a real Prometheus scrapes loaded
 * servers, with the rules and every query of the dashboard.
 */
import { spawnSync } from 'node:child_process'
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs'
import { backupDatabase } from '@plant-store/prisma'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { newDatabase } from './helpers/database/databases.ts'
import { type PostgresqlServer, startPostgresql } from './helpers/database/postgresql.ts'
import { freePort } from './helpers/free-port.ts'
import { isLong } from './helpers/long-tests.ts'
import { codeBlock, GUIDES, isInstalled, readGuide, shell } from './helpers/production/guide.ts'
import { startTestServer } from './helpers/server/start-test-server.ts'
import { startWriting } from './helpers/server/start-writing.ts'
import { responds, startProgram } from './helpers/start-program.ts'
import { temporaryFolder } from './helpers/temporary-folder.ts'

const METRIC = /\b(?:plant_store|http_server|nodejs|process)_[a-z0-9_]*[a-z0-9]\b/g
/** How a dashboard names the value of its variable `datasource`. */
const DATA_SOURCE = '$' + '{datasource}'
/** The time until Prometheus has what a query needs, in milliseconds: much more than is usual. */
const PATIENCE = { timeout: 120_000, interval: 500 }

/** What the tests need of a dashboard. */
interface Dashboard {
  schemaVersion: number
  panels: {
    id: number
    type: string
    title: string
    datasource?: { uid: string }
    targets?: { datasource: { uid: string }; expr: string }[]
  }[]
  templating: { list: { name: string; definition?: string }[] }
  annotations: { list: { expr: string }[] }
}

const monitoring = `${GUIDES}monitoring`
const alerts = readGuide('monitoring/alerts.yml')
const alertNames = [...alerts.matchAll(/- alert: (\w+)/g)].map(([, name = '']) => name)
const readme = readGuide('monitoring/README.md')
const dashboard: Dashboard = JSON.parse(readGuide('monitoring/dashboard.json'))
const hasPrometheus = isInstalled('prometheus')
if (!hasPrometheus) console.log('Metrics, rules and dashboard are only compared: prometheus is not installed.')

let database: PostgresqlServer
/** The text of /metrics of a fresh server with SQLite, and of one with PostgreSQL. */
let sqlite: string
let postgresql: string
beforeAll(async () => {
  database = await startPostgresql()
  sqlite = await scrape(await newDatabase())
  postgresql = await scrape(await database.create('fresh'))
}, 120_000)
afterAll(() => database?.remove())

async function scrape(databaseUrl: string): Promise<string> {
  await using server = await startTestServer({ adminPort: 0, databaseUrl })
  return (await fetch(`${server.adminUrl}/metrics`)).text()
}

const metricsIn = (text: string) => [...text.matchAll(/^# TYPE (\S+) /gm)].map(([, name = '']) => name)

test.each(['monitoring/alerts.yml', 'monitoring/dashboard.json', 'monitoring/README.md', 'README.md'])(
  'every metric that %s names is in the metrics of a fresh server',
  (file) => {
    // Metrics, series and labels.
    const known = new Set((sqlite + postgresql).match(/^\w+|(?<=^# TYPE )\w+|(?<=[{,])\w+(?==")/gm))
    const named = [...new Set(readGuide(file).match(METRIC))]
    expect(named.length).toBeGreaterThan(0)
    // Garbage may not have been collected yet, and the role of the servers is called like a metric.
    const absent = named.filter((name) => !known.has(name) && !/^nodejs_gc_duration_seconds|_owner$/.test(name))
    expect(absent).toEqual([])
  },
)

test('every metric of ours is in the dashboard or in a rule', () => {
  const shown = `${readGuide('monitoring/dashboard.json')} ${alerts}`
  const ours = metricsIn(sqlite + postgresql).filter((name) => !/^(nodejs|process)_/.test(name))
  expect(ours.length).toBeGreaterThan(8)
  expect(ours.filter((name) => !shown.includes(name))).toEqual([])
})

test('every alert has a firing and a quiet case, and a section that says what to do', () => {
  const tests = readGuide('monitoring/alerts.test.yml')
  expect(alertNames.length).toBeGreaterThan(12)
  for (const name of alertNames) {
    for (const state of ['fires', 'is quiet']) expect(tests).toContain(`- name: ${name} ${state}\n`)
    expect(alerts).toContain(`runbook: docs/production/monitoring/README.md#${name.toLowerCase()}`)
  }
  expect([...readme.matchAll(/^### (PlantStore\w+)$/gm)].map(([, name]) => name)).toEqual(alertNames)
  expect(alerts.match(/severity: (critical|warning)/g)).toHaveLength(alertNames.length)
  for (const key of ['summary', 'description']) expect(alerts.split(` ${key}: `)).toHaveLength(alertNames.length + 1)
})

test('the reasons in the guide are those of the counters', () => {
  for (const counter of ['plant_store_rejected_total', 'plant_store_writes_rejected_total']) {
    const reasons = [...sqlite.matchAll(new RegExp(`^${counter}{reason="([^"]+)"}`, 'gm'))].map(([, reason]) => reason)
    const [, table = ''] = new RegExp(`^\\| \`reason\` of \`${counter}\` .*\\n((?:\\|.*\\n)+)`, 'm').exec(readme) ?? []
    const described = [...table.matchAll(/^\| `([^`]+)`/gm)].map(([, reason]) => reason)
    expect(described.sort()).toEqual(reasons.sort())
  }
})

test('the dashboard can be imported: unique panels, with a variable for the data source', () => {
  const { schemaVersion, templating, panels } = dashboard
  expect(schemaVersion).toBeGreaterThanOrEqual(41)
  expect(templating.list.map(({ name }) => name)).toEqual(['datasource', 'job', 'instance'])
  const rows = panels.filter(({ type }) => type === 'row').map(({ title }) => title)
  expect(rows).toEqual(['Traffic', 'Errors', 'Latency', 'Storage', 'Process'])
  expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length)
  for (const { title, datasource, targets = [] } of panels.filter(({ type }) => type !== 'row')) {
    expect([title, datasource?.uid]).toEqual([title, DATA_SOURCE])
    expect(targets.length).toBeGreaterThan(0)
    const target = {
      datasource: expect.objectContaining({ uid: DATA_SOURCE }),
      expr: expect.stringContaining('job="$job"'),
    }
    for (const each of targets) expect(each).toMatchObject(target)
  }
})

test.runIf(hasPrometheus)('promtool finds nothing wrong with the names, types and units of the metrics', () => {
  for (const input of [sqlite, postgresql]) {
    const { stderr } = spawnSync('promtool', ['check', 'metrics'], { input, encoding: 'utf8' })
    // Metrics of prom-client.
    const known = /^(nodejs|process)_/
    expect(stderr.split('\n').filter((line) => line && !known.test(line))).toEqual([])
  }
})

const runsPrometheus = isLong && hasPrometheus

test.runIf(runsPrometheus)('promtool accepts configuration and rules by the commands of the guide', async () => {
  const folder = temporaryFolder()
  const commands = codeBlock(readme, 'Set up', 0)
  expect(commands).toContain('systemctl reload prometheus')
  await shell(commands.replaceAll('/etc/prometheus', folder).replace(/^systemctl .*\n/m, ''), { cwd: monitoring })
  expect(readFileSync(`${folder}/alerts.yml`, 'utf8')).toBe(alerts)
  await shell(codeBlock(readme, 'Set up', 1), { cwd: monitoring })
})

/** Starts a server with load of every kind: new plants, lists, rejected requests. */
async function startLoaded(databaseUrl: string) {
  const server = await startTestServer({ databaseUrl, adminPort: 0 })
  const writing = startWriting({ url: server.url, token: server.token, writers: 2 })
  let stopped = false
  async function read(): Promise<void> {
    while (!stopped) {
      await (await server.call('/plants?limit=10')).text()
      await (await server.call('/plants', { token: 'unknown' })).text()
      await (await server.call('/nothing')).text()
    }
  }
  const reading = read()
  async function close(): Promise<void> {
    stopped = true
    await Promise.all([reading, writing.stop()])
    await server.close()
  }
  onTestFinished(close)
  return { target: new URL(String(server.adminUrl)).host, close }
}

/**
 * Starts Prometheus with the configuration and the rules of the guide: it scrapes these servers every second. Returns a function
 * for its HTTP API.
 */
async function startPrometheus(targets: readonly string[]) {
  const folder = temporaryFolder()
  const configuration = readGuide('monitoring/prometheus.yml')
    .replaceAll(/_interval: \d+s/g, '_interval: 1s')
    .replace(/targets: \[.*\]/, `targets: ${JSON.stringify(targets)}`)
  writeFileSync(`${folder}/prometheus.yml`, configuration)
  copyFileSync(`${monitoring}/alerts.yml`, `${folder}/alerts.yml`)
  const url = `http://127.0.0.1:${await freePort()}`
  const options = ['--config.file=prometheus.yml', '--storage.tsdb.path=data', `--web.listen-address=${url.slice(7)}`]
  const isReady = responds(`${url}/-/ready`, (status) => status === 200)
  const program = await startProgram(['prometheus', ...options], isReady, { cwd: folder })
  onTestFinished(async () => void (await program.stop()))
  return async <Data>(query: string): Promise<Data> => {
    const response = await fetch(`${url}/api/v1/${query}`)
    const { status, data, error } = (await response.json()) as { status: string; data: Data; error?: string }
    if (status !== 'success') throw new Error(`${query}: ${error}`)
    return data
  }
}

/** Writes an expression of the dashboard for a URL, without the variables of Grafana. */
function fillIn(expression: string): string {
  const values = { $job: 'plant-store', $instance: '.+', $__rate_interval: '10s', $__interval: '10s' }
  return encodeURIComponent(Object.entries(values).reduce((text, pair) => text.replaceAll(...pair), expression))
}

test.runIf(runsPrometheus)(
  'every query of the dashboard has data, no rule fails, and a lost server is an alert',
  { timeout: 300_000 },
  async () => {
    const url = await newDatabase()
    const loaded = [await startLoaded(url), await startLoaded(await database.create('loaded'))]
    await backupDatabase(url, `${temporaryFolder()}/copy.db`)
    const get = await startPrometheus(loaded.map(({ target }) => target))

    /** Returns whether each server could be scraped, with the error. */
    async function stateOfTargets(): Promise<string[]> {
      const { activeTargets } = await get<{ activeTargets: { health: string; lastError: string }[] }>('targets')
      return activeTargets.map(({ health, lastError }) => health + lastError)
    }
    /** Returns the values that a query has now. */
    async function values(expression: string): Promise<number[]> {
      const { result } = await get<{ result: { value: [number, string] }[] }>(`query?query=${fillIn(expression)}`)
      return result.map(({ value }) => Number(value[1]))
    }
    async function hasData(expression: string): Promise<boolean> {
      const found = await values(expression)
      return found.length > 0 && found.every(Number.isFinite)
    }
    /** Returns what a variable of the dashboard offers. */
    function namesOf(variable: string): Promise<string[]> {
      const { definition = '' } = dashboard.templating.list.find(({ name }) => name === variable) ?? {}
      const [, selector = '', label] = /^label_values\((.*), (\w+)\)$/.exec(definition) ?? []
      return get(`label/${label}/values?match[]=${fillIn(selector)}`)
    }

    await expect.poll(stateOfTargets, PATIENCE).toEqual(['up', 'up'])
    for (const { title, targets = [] } of dashboard.panels) {
      for (const { expr } of targets) {
        await expect.poll(() => hasData(expr), { ...PATIENCE, message: `${title}: ${expr}` }).toBe(true)
      }
    }
    for (const { expr } of dashboard.annotations.list) await values(expr)
    const [throughput] = dashboard.panels.find(({ title }) => title === 'New plants')?.targets ?? []
    expect((await values(throughput?.expr ?? ''))[0]).toBeGreaterThan(1)
    expect(await namesOf('job')).toEqual(['plant-store'])
    expect(await namesOf('instance')).toEqual(loaded.map(({ target }) => target).sort())

    // Texts with templates that fail are among the errors of a rule.
    const { groups } = await get<{ groups: { rules: { health: string }[] }[] }>('rules')
    const rules = groups.flatMap((group) => group.rules)
    expect(rules.length).toBeGreaterThan(12)
    expect(rules.filter(({ health }) => health !== 'ok')).toEqual([])
    // Nothing is wrong with these servers but their load.
    expect(await values('ALERTS{severity="critical", alertstate="firing"}')).toEqual([])
    await loaded[0]?.close()
    await expect.poll(() => values('ALERTS{alertname="PlantStoreDown"}'), PATIENCE).toEqual([1])
  },
)

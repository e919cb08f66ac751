/** Compares docs/production/monitoring with the metrics of fresh servers. test/prometheus.test.ts runs the rules. */
import { spawnSync } from 'node:child_process'
import { beforeAll, expect, test } from 'vitest'
import { startPostgresql } from './helpers/database/postgresql.ts'
import { isInstalled, readGuide } from './helpers/production/guide.ts'
import { startTestServer } from './helpers/server/start-test-server.ts'

const METRIC = /\b(?:plant_store|http_server|db_client|nodejs|process)_[a-z0-9_]*[a-z0-9]\b/g
/** How a dashboard names the value of its variable `datasource`. */
const DATA_SOURCE = '$' + '{datasource}'

const alerts = readGuide('monitoring/alerts.yml')
const alertNames = [...alerts.matchAll(/- alert: (\w+)/g)].map(([, name = '']) => name)
const readme = readGuide('monitoring/README.md')

/** The text of /metrics of a fresh server with SQLite, and of one with PostgreSQL. */
let sqlite: string
let postgresql: string
beforeAll(async () => {
  sqlite = await scrape()
  const database = await startPostgresql()
  try {
    postgresql = await scrape(database.url('plants'))
  } finally {
    await database.remove()
  }
}, 120_000)

async function scrape(databaseUrl?: string): Promise<string> {
  await using server = await startTestServer({ adminPort: 0, ...(databaseUrl !== undefined && { databaseUrl }) })
  return (await fetch(`${server.adminUrl}/metrics`)).text()
}

const metricsIn = (text: string) => [...text.matchAll(/^# TYPE (\S+) /gm)].map(([, name = '']) => name)

/** Lists all names of metrics, series and labels. */
function namesIn(text: string): Set<string> {
  const series = text.split('\n').map((line) => /^\w+/.exec(line)?.[0] ?? '')
  const labels = [...text.matchAll(/[{,](\w+)="/g)].map(([, label = '']) => label)
  return new Set([...metricsIn(text), ...series, ...labels])
}

test.each([
  'monitoring/alerts.yml',
  'monitoring/dashboard.json',
  'monitoring/README.md',
  'several-machines/README.md',
  'README.md',
])('every metric that %s names is in the metrics of a fresh server', (file) => {
  const known = new Set([...namesIn(sqlite), ...namesIn(postgresql)])
  const named = [...new Set(readGuide(file).match(METRIC))]
  expect(named.length).toBeGreaterThan(0)
  // Garbage may not have been collected yet, and the role of the servers is called like a metric.
  const absent = named.filter((name) => !known.has(name) && !/^nodejs_gc_duration_seconds|_owner$/.test(name))
  expect(absent).toEqual([])
})

test('every metric of ours is in the dashboard or in a rule', () => {
  const shown = `${readGuide('monitoring/dashboard.json')} ${alerts}`
  const ours = metricsIn(sqlite + postgresql).filter((name) => !/^(nodejs|process)_/.test(name))
  expect(ours.length).toBeGreaterThan(20)
  expect(ours.filter((name) => !shown.includes(name))).toEqual([])
})

test('every alert has a firing and a quiet case, and a section that says what to do', () => {
  const tests = readGuide('monitoring/alerts.test.yml')
  expect(alertNames.length).toBeGreaterThan(15)
  for (const name of alertNames) {
    expect(tests).toMatch(new RegExp(`- name: ${name} fires$`, 'm'))
    expect(tests).toMatch(new RegExp(`- name: ${name} is quiet$`, 'm'))
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

/** What the tests need of a panel. */
interface Panel {
  id: number
  type: string
  title: string
  datasource?: { uid: string }
  targets?: { datasource: { uid: string }; expr: string; legendFormat: string }[]
}

test('the dashboard can be imported: unique panels, with a variable for the data source', () => {
  const dashboard = JSON.parse(readGuide('monitoring/dashboard.json'))
  const panels: Panel[] = dashboard.panels
  expect(dashboard.schemaVersion).toBeGreaterThanOrEqual(41)
  expect(dashboard.templating.list.map(({ name }: { name: string }) => name)).toEqual(['datasource', 'job', 'instance'])
  const rows = panels.filter(({ type }) => type === 'row').map(({ title }) => title)
  expect(rows).toEqual(['Traffic', 'Errors', 'Latency', 'Storage', 'Process'])
  expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length)
  for (const { title, datasource, targets } of panels.filter(({ type }) => type !== 'row')) {
    expect([title, datasource?.uid]).toEqual([title, DATA_SOURCE])
    expect(targets?.length).toBeGreaterThan(0)
    for (const target of targets ?? []) {
      expect(target.datasource.uid).toBe(DATA_SOURCE)
      expect(target.expr).toContain('job="$job"')
    }
  }
})

const hasPromtool = isInstalled('promtool')
if (!hasPromtool) console.log('The names of the metrics are not checked: promtool (of prometheus) is not installed.')

test.runIf(hasPromtool)('promtool finds nothing wrong with the names, types and units of the metrics', () => {
  for (const input of [sqlite, postgresql]) {
    const { stderr } = spawnSync('promtool', ['check', 'metrics'], { input, encoding: 'utf8' })
    // Metrics of prom-client, and OpenTelemetry's names.
    const known = /^(nodejs|process)_|^db_client_connection_count /
    expect(stderr.split('\n').filter((line) => line && !known.test(line))).toEqual([])
  }
})

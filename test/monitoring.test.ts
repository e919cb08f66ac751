/** Compares docs/production/monitoring with the metrics of fresh servers; promtool.test.ts checks rules and queries. */
import { expect, test } from 'vitest'
import { newDatabase, sharedPostgresql } from './helpers/database/databases.ts'
import { readGuide } from './helpers/production/guide.ts'
import { startTestServer } from './helpers/server/start-test-server.ts'

const METRIC = /\b(?:plant_store|http_server|nodejs|process)_[a-z0-9_]*[a-z0-9]\b/g

const readme = readGuide('monitoring/README.md')

const database = await sharedPostgresql()
/** Returns the text of /metrics of a fresh server. */
async function scrapeMetrics(databaseUrl: string): Promise<string> {
  await using server = await startTestServer({ adminPort: 0, databaseUrl })
  return (await fetch(`${server.adminUrl}/metrics`)).text()
}
/** Of a server with SQLite, and of one with PostgreSQL. */
const sqlite = await scrapeMetrics(await newDatabase())
const postgresql = await scrapeMetrics(await database.create('monitored'))

test.each(['monitoring/alerts.yml', 'monitoring/dashboard.json', 'monitoring/README.md', 'README.md'])(
  'every metric and every value of a label that %s names is in the metrics of a fresh server',
  (file) => {
    // Metrics, series and labels.
    const known = new Set((sqlite + postgresql).match(/^\w+|(?<=^# TYPE )\w+|(?<=[{,])\w+(?==")/gm))
    const named = [...new Set(readGuide(file).match(METRIC))]
    expect(named.length).toBeGreaterThan(0)
    // Garbage may not have been collected yet, and the role of the servers is called like a metric.
    const absent = named.filter((name) => !known.has(name) && !/^nodejs_gc_duration_seconds|_owner$/.test(name))
    expect(absent).toEqual([])
    const text = readGuide(file).replaceAll('\\', '')
    const pairs = [...text.matchAll(/\w+="[^"$]+"/g)].map(([pair]) => pair)
    // Prometheus adds the job, node_exporter has the names and states of units, and Alertmanager the severity.
    const shown = `${sqlite} ${postgresql} job="plant-store" name="plant-store-backup.service" state="failed"
      name="plant-store-backup.timer" severity="critical"`
    expect(pairs.filter((pair) => !shown.includes(pair))).toEqual([])
  },
)

test('the reasons in the guide are those of the counters', () => {
  for (const counter of ['plant_store_rejected_total', 'plant_store_writes_rejected_total']) {
    const reasons = [...sqlite.matchAll(new RegExp(`^${counter}{reason="([^"]+)"}`, 'gm'))].map(([, reason]) => reason)
    const [, table = ''] = new RegExp(`^\\| \`reason\` of \`${counter}\` .*\\n((?:\\|.*\\n)+)`, 'm').exec(readme) ?? []
    const described = [...table.matchAll(/^\| `([^`]+)`/gm)].map(([, reason]) => reason)
    expect(described.sort()).toEqual(reasons.sort())
  }
})

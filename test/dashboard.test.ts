/** Runs every query of the dashboard, and the alert rules, in a real Prometheus that scrapes loaded servers. */
import path from 'node:path'
import { expect, test, vi } from 'vitest'
import { startPostgresql } from './helpers/database/postgresql.ts'
import { isLong } from './helpers/long-tests.ts'
import { isInstalled, readGuide } from './helpers/production/guide.ts'
import { type Prometheus, startPrometheus } from './helpers/production/prometheus.ts'
import { runCommand, startServerProcess } from './helpers/server/run-command.ts'
import { startWriting } from './helpers/server/start-writing.ts'
import { temporaryFolder } from './helpers/temporary-folder.ts'

const isMissing = !isInstalled('prometheus')
if (!isLong) console.log('The dashboard is not run: set PLANT_STORE_LONG_TESTS=1 for that.')
else if (isMissing) console.log('The dashboard is not run: prometheus is not installed.')

/** The time until Prometheus has what a query needs, in milliseconds: much more than is usual. */
const PATIENCE = { timeout: 120_000, interval: 500 }

vi.setConfig({ testTimeout: 300_000 })

/** What the tests need of a dashboard. */
interface Dashboard {
  panels: { title: string; targets?: { expr: string }[] }[]
  templating: { list: { name: string; definition?: string }[] }
  annotations: { list: { expr: string }[] }
}

const dashboard: Dashboard = JSON.parse(readGuide('monitoring/dashboard.json'))

/** Replaces the variables of Grafana. */
function fillIn(expression: string): string {
  return expression
    .replaceAll('$job', 'plant-store')
    .replaceAll('$instance', '.+')
    .replaceAll('$__rate_interval', '10s')
    .replaceAll('$__interval', '10s')
}

/** Returns the values that a query has now. */
async function valuesOf(prometheus: Prometheus, expression: string): Promise<number[]> {
  const query = `query?query=${encodeURIComponent(fillIn(expression))}`
  const { result } = await prometheus.get<{ result: { value: [time: number, value: string] }[] }>(query)
  return result.map(({ value }) => Number(value[1]))
}

/** Starts a server with load of every kind: new plants, lists, rejected requests and a backup. */
async function startLoaded(databaseUrl: string, backup?: string) {
  const environment = { DATABASE_URL: databaseUrl, ADMIN_PORT: '0' }
  const server = await startServerProcess(environment)
  const { stdout } = await runCommand(['token', 'create', '--account', 'me'], environment)
  if (backup !== undefined) expect((await runCommand(['backup', backup], environment)).exitCode).toBe(0)
  const token = stdout.trim()
  const writing = startWriting({ url: server.url, token, writers: 2 })
  let stopped = false
  async function read(): Promise<void> {
    while (!stopped) {
      await (await fetch(`${server.url}/plants?limit=10`, { headers: { authorization: `Bearer ${token}` } })).text()
      await (await fetch(`${server.url}/plants`, { headers: { authorization: 'Bearer unknown' } })).text()
      await (await fetch(`${server.url}/nothing`)).text()
    }
  }
  const reading = read()
  return {
    target: new URL(String(server.adminUrl)).host,
    server,
    async stop() {
      stopped = true
      await reading
      await writing.stop()
    },
  }
}

test.runIf(isLong && !isMissing)('every query of the dashboard has data, and no rule fails', async () => {
  const folder = temporaryFolder()
  const database = await startPostgresql()
  const loaded = [
    await startLoaded(`file:${path.join(folder, 'plants.db')}`, path.join(folder, 'copy.db')),
    await startLoaded(database.url('plants')),
  ]
  const prometheus = await startPrometheus(loaded.map(({ target }) => target))
  try {
    await expect.poll(() => stateOfTargets(prometheus), PATIENCE).toEqual(['up', 'up'])
    for (const { title, targets = [] } of dashboard.panels) {
      for (const { expr } of targets) {
        const message = `${title}: ${expr}`
        await expect.poll(() => describeData(prometheus, expr), { ...PATIENCE, message }).toBe('numbers')
      }
    }
    for (const { expr } of dashboard.annotations.list) await valuesOf(prometheus, expr)
    const [throughput] = dashboard.panels.find(({ title }) => title === 'New plants')?.targets ?? []
    expect((await valuesOf(prometheus, throughput?.expr ?? ''))[0]).toBeGreaterThan(1)
    expect(await namesOf(prometheus, 'job')).toEqual(['plant-store'])
    expect(await namesOf(prometheus, 'instance')).toEqual(loaded.map(({ target }) => target).sort())

    expect(await failingRules(prometheus)).toEqual([])
    // Nothing is wrong with these servers but their load.
    expect(await valuesOf(prometheus, 'ALERTS{severity="critical", alertstate="firing"}')).toEqual([])
    await loaded[0]?.stop()
    await loaded[0]?.server.end()
    await expect.poll(() => valuesOf(prometheus, 'ALERTS{alertname="PlantStoreDown"}'), PATIENCE).toEqual([1])
  } finally {
    for (const each of loaded) await each.stop()
    for (const { server } of loaded) await server.end('SIGKILL')
    await prometheus.stop()
    await database.remove()
  }
})

async function describeData(prometheus: Prometheus, expression: string): Promise<string> {
  const values = await valuesOf(prometheus, expression)
  if (values.length === 0) return 'nothing'
  return values.every(Number.isFinite) ? 'numbers' : values.join(', ')
}

/** Returns what a variable of the dashboard offers. */
async function namesOf(prometheus: Prometheus, variable: string): Promise<string[]> {
  const { definition = '' } = dashboard.templating.list.find(({ name }) => name === variable) ?? {}
  const [, selector = '', label] = /^label_values\((.*), (\w+)\)$/.exec(definition) ?? []
  return prometheus.get(`label/${label}/values?match[]=${encodeURIComponent(fillIn(selector))}`)
}

/** Returns whether each server could be scraped, with the error. */
async function stateOfTargets(prometheus: Prometheus): Promise<string[]> {
  interface Target {
    health: string
    lastError: string
  }
  const { activeTargets } = await prometheus.get<{ activeTargets: Target[] }>('targets')
  return activeTargets.map(({ health, lastError }) => health + lastError)
}

/** Returns the rules that could not be evaluated, with the error; texts with templates that fail are among them. */
async function failingRules(prometheus: Prometheus): Promise<string[]> {
  interface Rule {
    name: string
    health: string
    lastError?: string
  }
  const { groups } = await prometheus.get<{ groups: { rules: Rule[] }[] }>('rules')
  const rules = groups.flatMap(({ rules }) => rules)
  expect(rules.length).toBeGreaterThan(15)
  return rules.filter(({ health }) => health !== 'ok').map(({ name, lastError }) => `${name}: ${lastError}`)
}

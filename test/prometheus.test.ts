/** The alert rules and every query of the dashboard, in a real Prometheus that scrapes loaded servers. */
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { backupDatabase } from '@plant-store/prisma'
import { expect, test, vi } from 'vitest'
import { startPostgresql } from './helpers/database/postgresql.ts'
import { freePort } from './helpers/free-port.ts'
import { codeBlock, GUIDES, isInstalled, readGuide, shell } from './helpers/production/guide.ts'
import { startTestServer } from './helpers/server/start-test-server.ts'
import { startWriting } from './helpers/server/start-writing.ts'
import { responds, startProgram } from './helpers/start-program.ts'
import { temporaryDatabase, temporaryFolder } from './helpers/temporary-folder.ts'

const isMissing = !isInstalled('prometheus')
if (isMissing) console.log('The alert rules and the dashboard are not run: prometheus is not installed.')

const monitoring = `${GUIDES}monitoring`
const alerts = readGuide('monitoring/alerts.yml')
const readme = readGuide('monitoring/README.md')
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
  const values = { $job: 'plant-store', $instance: '.+', $__rate_interval: '10s', $__interval: '10s' }
  return Object.entries(values).reduce((text, pair) => text.replaceAll(...pair), expression)
}

test.skipIf(isMissing)('promtool accepts the configuration and the rules by the commands of the guide', async () => {
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
  return {
    target: new URL(String(server.adminUrl)).host,
    async close() {
      stopped = true
      await reading
      await writing.stop()
      await server.close()
    },
  }
}

/** Starts Prometheus with the configuration and the rules of the guide: it scrapes these servers every second. */
async function startPrometheus(targets: readonly string[]) {
  const folder = temporaryFolder()
  const configuration = readGuide('monitoring/prometheus.yml')
    .replaceAll(/_interval: \d+s/g, '_interval: 1s')
    .replace(/targets: \[.*\]/, `targets: ${JSON.stringify(targets)}`)
  writeFileSync(path.join(folder, 'prometheus.yml'), configuration)
  copyFileSync(`${monitoring}/alerts.yml`, path.join(folder, 'alerts.yml'))
  const url = `http://127.0.0.1:${await freePort()}`
  const options = ['config.file=prometheus.yml', 'storage.tsdb.path=data', `web.listen-address=${url.slice(7)}`]
  const command = ['prometheus', ...options.map((option) => `--${option}`)]
  const program = await startProgram(
    command,
    responds(`${url}/-/ready`, (status) => status === 200),
    { cwd: folder },
  )
  /** Returns the result of a query of its HTTP API. */
  async function get<Data>(query: string): Promise<Data> {
    const response = await fetch(`${url}/api/v1/${query}`)
    const { status, data, error } = (await response.json()) as { status: string; data: Data; error?: string }
    if (status !== 'success') throw new Error(`${query}: ${error}`)
    return data
  }
  return {
    get,
    stop: () => program.stop(),
    /** Returns the values that a query of the dashboard has now. */
    async values(expression: string): Promise<number[]> {
      const query = `query?query=${encodeURIComponent(fillIn(expression))}`
      const { result } = await get<{ result: { value: [time: number, value: string] }[] }>(query)
      return result.map(({ value }) => Number(value[1]))
    },
  }
}

test.skipIf(isMissing)(
  'every query of the dashboard has data, no rule fails, and a lost server is an alert',
  async () => {
    const database = await startPostgresql()
    const { url } = temporaryDatabase()
    const loaded = [await startLoaded(url), await startLoaded(database.url('plants'))]
    await backupDatabase(url, path.join(temporaryFolder(), 'copy.db'))
    const { get, values, stop } = await startPrometheus(loaded.map(({ target }) => target))
    /** Returns whether each server could be scraped, with the error. */
    async function stateOfTargets(): Promise<string[]> {
      const { activeTargets } = await get<{ activeTargets: { health: string; lastError: string }[] }>('targets')
      return activeTargets.map(({ health, lastError }) => health + lastError)
    }
    async function describeData(expression: string): Promise<string> {
      const found = await values(expression)
      if (found.length === 0) return 'nothing'
      return found.every(Number.isFinite) ? 'numbers' : found.join(', ')
    }
    /** Returns what a variable of the dashboard offers. */
    function namesOf(variable: string): Promise<string[]> {
      const { definition = '' } = dashboard.templating.list.find(({ name }) => name === variable) ?? {}
      const [, selector = '', label] = /^label_values\((.*), (\w+)\)$/.exec(definition) ?? []
      return get(`label/${label}/values?match[]=${encodeURIComponent(fillIn(selector))}`)
    }
    try {
      await expect.poll(stateOfTargets, PATIENCE).toEqual(['up', 'up'])
      for (const { title, targets = [] } of dashboard.panels) {
        for (const { expr } of targets) {
          const message = `${title}: ${expr}`
          await expect.poll(() => describeData(expr), { ...PATIENCE, message }).toBe('numbers')
        }
      }
      for (const { expr } of dashboard.annotations.list) await values(expr)
      const [throughput] = dashboard.panels.find(({ title }) => title === 'New plants')?.targets ?? []
      expect((await values(throughput?.expr ?? ''))[0]).toBeGreaterThan(1)
      expect(await namesOf('job')).toEqual(['plant-store'])
      expect(await namesOf('instance')).toEqual(loaded.map(({ target }) => target).sort())

      // Texts with templates that fail are among the errors of a rule.
      interface Rule {
        name: string
        health: string
        lastError?: string
      }
      const { groups } = await get<{ groups: { rules: Rule[] }[] }>('rules')
      const rules = groups.flatMap((group) => group.rules)
      expect(rules.length).toBeGreaterThan(15)
      expect(rules.filter(({ health }) => health !== 'ok')).toEqual([])
      // Nothing is wrong with these servers but their load.
      expect(await values('ALERTS{severity="critical", alertstate="firing"}')).toEqual([])
      await loaded[0]?.close()
      await expect.poll(() => values('ALERTS{alertname="PlantStoreDown"}'), PATIENCE).toEqual([1])
    } finally {
      for (const { close } of loaded) await close()
      await stop()
      await database.remove()
    }
  },
)

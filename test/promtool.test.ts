/** Lets promtool check what docs/production/monitoring has for Prometheus. */
import { readFileSync, writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { codeBlock, GUIDES, isInstalled, readGuide, shell } from './helpers/production/guide.ts'
import { temporaryFolder } from './helpers/temporary.ts'

const hasPrometheus = isInstalled('prometheus')
const monitoring = `${GUIDES}monitoring`
const readme = readGuide('monitoring/README.md')

test.runIf(hasPrometheus)('promtool accepts configuration and rules by the commands of the guide', async () => {
  const folder = temporaryFolder()
  const commands = codeBlock(readme, 'Set up', 0)
  // The operator's own, which stays.
  const own = 'rule_files:\n  # None.\nscrape_configs:\n  - job_name: node\n    static_configs: [{ targets: [a] }]\n'
  writeFileSync(`${folder}/prometheus.yml`, own)
  await shell(commands.replaceAll('/etc/prometheus', folder).replace(/^systemctl .*\n/m, ''), { cwd: monitoring })
  expect(readFileSync(`${folder}/plant-store.yml`, 'utf8')).toBe(readGuide('monitoring/alerts.yml'))
  expect(parse(readFileSync(`${folder}/prometheus.yml`, 'utf8'))).toMatchObject({
    rule_files: ['plant-store.yml'],
    scrape_configs: [{ job_name: 'node' }, { job_name: 'plant-store' }],
  })
  await shell(codeBlock(readme, 'Set up', 1), { cwd: monitoring })
})

test.runIf(hasPrometheus)('promtool accepts the queries of the dashboard, for the job that it shows', async () => {
  const { panels, annotations } = JSON.parse(readGuide('monitoring/dashboard.json'))
  const targets: { expr: string }[] = panels.flatMap(({ targets = [] }) => targets)
  expect(targets.length).toBeGreaterThan(20)
  for (const { expr } of targets) expect(expr).toContain('job="$job"')
  const rules = [...targets, ...annotations.list].map(({ expr }, index) => ({
    record: `query_${index}`,
    expr: expr.replace(/\$__\w+/g, '1m'),
  }))
  // JSON is YAML.
  const file = `${temporaryFolder()}/queries.yml`
  writeFileSync(file, JSON.stringify({ groups: [{ name: 'dashboard', rules }] }))
  await shell(`promtool check rules ${file}`)
})

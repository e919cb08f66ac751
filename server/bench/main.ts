/**
 * `npm run bench -- [--against FOLDER] [SCENARIO ...]`: measures the server against others, as
 * ratios in one run. See README.md.
 */
import { mkdir, writeFile } from 'node:fs/promises'
import { cpus } from 'node:os'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { drawChart } from './chart.ts'
import { stopPostgresql } from './database.ts'
import { againstRelease } from './last-release.ts'
import { loadGenerator } from './load/load.ts'
import { FULL, type Row, type Scenario } from './rounds.ts'
import { scenarios as ofOthers } from './scenarios.ts'

/** What the chart of the README shows, if all of it was measured. */
const CHARTED = { list: 'GET /plants, 100 plants, 64 connections', create: 'POST /plants, durable, 64 connections' }
const CHART = fileURLToPath(new URL('../../docs/images/benchmark.svg', import.meta.url))
const RESULTS = fileURLToPath(new URL('results/', import.meta.url))

function progress(line: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\u001b[K${line}`)
  else console.error(line)
}

function show({ what, name, value, unit, goal, passed, detail }: Row): string {
  const verdict = goal === undefined ? '' : `  goal ${goal}  ${passed ? 'reached' : 'MISSED'}`
  return `${what.padEnd(52)} ${name.padEnd(14)} ${value.padStart(8)} ${unit.padEnd(10)}${verdict}  ${detail}`
}

const { values, positionals: wanted } = parseArgs({ allowPositionals: true, options: { against: { type: 'string' } } })
const scenarios: Record<string, Scenario> = values.against === undefined ? ofOthers : againstRelease(values.against)
const unknown = wanted.filter((name) => !(name in scenarios))
if (unknown.length > 0) {
  console.error(`Unknown scenario: ${unknown.join(', ')}. Known: ${Object.keys(scenarios).join(', ')}`)
  process.exit(2)
}

const machine = `${cpus().length} x ${cpus()[0]?.model}, ${process.platform} ${process.arch}, Node.js ${process.version}`
console.log(
  `${machine}; load by ${loadGenerator()}, 1 connection and lists that grow by load/sockets.ts; SQLite with synchronous=FULL, PostgreSQL with synchronous_commit=on`,
)
const rows: Row[] = []
const charted: { title: string; rows: Row[] }[] = []
for (const [name, scenario] of Object.entries(scenarios)) {
  if (wanted.length > 0 && !wanted.includes(name)) continue
  const measured = await scenario((line) => progress(`${name}: ${line}`), FULL)
  progress('')
  for (const row of measured) console.log(show(row))
  rows.push(...measured)
  const title = CHARTED[name as keyof typeof CHARTED]
  if (title && values.against === undefined) charted.push({ title, rows: measured })
}
await stopPostgresql()

await mkdir(RESULTS, { recursive: true })
if (charted.length === Object.keys(CHARTED).length) await writeFile(CHART, drawChart(charted, machine))
const major = process.version.split('.')[0]
await writeFile(
  `${RESULTS}node-${major}.json`,
  `${JSON.stringify({ machine, date: new Date().toISOString(), rows }, null, 2)}\n`,
)
if (rows.some(({ passed }) => passed === false)) process.exitCode = 1

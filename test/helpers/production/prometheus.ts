import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { freePort } from '../free-port.ts'
import { temporaryFolder } from '../temporary-folder.ts'
import { until } from '../until.ts'
import { readGuide } from './guide.ts'

const FOLDER = fileURLToPath(new URL('../../../docs/production/monitoring/', import.meta.url))

/** A running Prometheus with the configuration and the rules of docs/production/monitoring. */
export interface Prometheus {
  /** Returns the result of a query of its HTTP API, such as `query?query=up`. */
  get<Data>(query: string): Promise<Data>
  stop(): Promise<void>
}

/** Starts Prometheus, which scrapes these servers every second. */
export async function startPrometheus(targets: readonly string[]): Promise<Prometheus> {
  const folder = temporaryFolder()
  const configuration = readGuide('monitoring/prometheus.yml')
    .replaceAll(/_interval: \d+s/g, '_interval: 1s')
    .replace(/targets: \[.*\]/, `targets: ${JSON.stringify(targets)}`)
  writeFileSync(path.join(folder, 'prometheus.yml'), configuration)
  copyFileSync(path.join(FOLDER, 'alerts.yml'), path.join(folder, 'alerts.yml'))
  const address = `127.0.0.1:${await freePort()}`
  const options = ['config.file=prometheus.yml', 'storage.tsdb.path=data', `web.listen-address=${address}`]
  const child = spawn(
    'prometheus',
    options.map((option) => `--${option}`),
    { cwd: folder, stdio: 'ignore' },
  )
  const closed = once(child, 'close')
  process.once('exit', () => child.kill('SIGKILL'))
  const isReady = () =>
    fetch(`http://${address}/-/ready`).then(
      ({ ok }) => ok,
      () => false,
    )
  await until(isReady, 60_000)
  return {
    async get(query) {
      const response = await fetch(`http://${address}/api/v1/${query}`)
      const { status, data, error } = (await response.json()) as { status: string; data: never; error?: string }
      if (status !== 'success') throw new Error(`${query}: ${error}`)
      return data
    },
    async stop() {
      child.kill()
      await closed
    },
  }
}

/** Runs promtool in the folder of the rules, with a text as its standard input. */
export function promtool(args: readonly string[], input = ''): string {
  return execFileSync('promtool', args, { cwd: FOLDER, input, encoding: 'utf8', stdio: 'pipe' })
}

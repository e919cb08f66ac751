/** What systemd is notified of. A program of Python stands in for systemd: it reads the socket, as Node.js cannot. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import pino from 'pino'
import { expect, onTestFinished, test, vi } from 'vitest'
import { isInstalled } from '../../../test/helpers/production/guide.ts'
import { runCommand, startServerProcess } from '../../../test/helpers/server/run-command.ts'
import { temporaryDatabase, temporaryFolder } from '../../../test/helpers/temporary-folder.ts'
import { until } from '../../../test/helpers/until.ts'
import { reportState } from '../../src/systemd/report-state.ts'

/** The time that processes may take to start on a busy machine, in milliseconds. */
const PATIENCE = 60_000
vi.setConfig({ testTimeout: 2 * PATIENCE })

const missing = ['systemd-notify', 'python3'].filter((program) => !isInstalled(program))
if (missing.length > 0) console.log(`Reports to systemd are not tested: ${missing.join(' and ')} is not installed.`)

const PRINT_DATAGRAMS = `
import socket, sys
reports = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
reports.bind(sys.argv[1])
print("listening", flush=True)
while True: print(reports.recv(65536).decode().replace("\\n", " "), flush=True)
`

/** Listens on a socket like systemd's. Returns its path, and what was sent to it, a line each. */
async function listenForReports(): Promise<{ socket: string; reports(): string[] }> {
  const socket = path.join(temporaryFolder(), 'notify')
  const listener = spawn('python3', ['-c', PRINT_DATAGRAMS, socket], { stdio: ['ignore', 'pipe', 'inherit'] })
  onTestFinished(() => void listener.kill('SIGKILL'))
  let output = ''
  listener.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text
  })
  await Promise.race([
    until(() => output.includes('listening'), PATIENCE),
    once(listener, 'close').then(() => Promise.reject(new Error('the listener ended'))),
  ])
  // systemd-notify ends each delivery with a barrier, which is not a report.
  return { socket, reports: () => output.split('\n').filter((line) => line.includes('=') && line !== 'BARRIER=1') }
}

test.skipIf(missing.length > 0)('systemd is notified of a migration, of being ready and of the shutdown', async () => {
  const { socket, reports } = await listenForReports()
  const server = await startServerProcess({ DATABASE_URL: temporaryDatabase().url, NOTIFY_SOCKET: socket })
  await until(() => reports().length >= 3, PATIENCE)
  expect(await server.end()).toBe(0)
  await until(() => reports().length >= 5, PATIENCE)
  expect(reports()).toEqual([
    expect.stringMatching(/^STATUS=Migrating the database \(\d+ pending\); this can take minutes$/),
    `STATUS=Serving ${server.url}`,
    'READY=1',
    'STATUS=Shutting down',
    'STOPPING=1',
  ])
  expect(server.output()).not.toContain('not notified')
})

test.skipIf(missing.length > 0)('a watchdog is notified repeatedly while the event loop is alive', async () => {
  const { socket, reports } = await listenForReports()
  const environment = { DATABASE_URL: temporaryDatabase().url, NOTIFY_SOCKET: socket, WATCHDOG_USEC: '600000' }
  const server = await startServerProcess(environment)
  await until(() => reports().filter((report) => report === 'WATCHDOG=1').length >= 3, PATIENCE)
  expect(await server.end()).toBe(0)
})

test('a server that cannot notify systemd logs it, serves and ends with 0', async () => {
  const environment = { DATABASE_URL: temporaryDatabase().url, NOTIFY_SOCKET: path.join(temporaryFolder(), 'missing') }
  const server = await startServerProcess(environment)
  await until(() => server.output().includes('systemd was not notified'), PATIENCE)
  expect((await fetch(`${server.url}/nowhere`)).status).toBe(404)
  expect(await server.end()).toBe(0)
})

test('a startup that fails ends although reports could still be sent', async () => {
  const environment = { DATABASE_URL: 'file:/proc/plants.db', NOTIFY_SOCKET: path.join(temporaryFolder(), 'missing') }
  expect((await runCommand(['serve'], environment)).exitCode).toBe(1)
})

test('the variables of the protocol are removed, and the watchdog of another process gets nothing', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  onTestFinished(() => void vi.useRealTimers())
  const environment: NodeJS.ProcessEnv = { NOTIFY_SOCKET: '/nowhere', WATCHDOG_USEC: '600000', WATCHDOG_PID: '1' }
  const others = reportState(environment, 2, pino({ level: 'silent' }))
  others.ready('http://127.0.0.1:3000')
  expect(environment).toEqual({})
  expect(vi.getTimerCount()).toBe(0)
  const own = reportState({ WATCHDOG_USEC: '600000', WATCHDOG_PID: '2' }, 2, pino({ level: 'silent' }))
  own.ready('http://127.0.0.1:3000')
  expect(vi.getTimerCount()).toBe(1)
  await Promise.all([others.stopping(), own.stopping()])
  expect(vi.getTimerCount()).toBe(0)
})

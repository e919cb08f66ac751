/** What systemd is notified of. A program of Python stands in for systemd: it reads the socket, as Node.js cannot. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import pino from 'pino'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { isInstalled } from '../../../test/helpers/production/guide.ts'
import { runCommand, startServerProcess } from '../../../test/helpers/server/run-command.ts'
import { temporaryDatabase, temporaryFolder } from '../../../test/helpers/temporary-folder.ts'
import { until } from '../../../test/helpers/until.ts'
import { reportState } from '../../src/systemd/report-state.ts'
import { openSocket } from '../helpers/wire/connection.ts'

/** The time that processes may take to start on a busy machine, in milliseconds. */
const PATIENCE = 60_000
vi.setConfig({ testTimeout: 2 * PATIENCE })

const missing = ['systemd-notify', 'python3'].filter((program) => !isInstalled(program))
if (missing.length > 0) console.log(`Reports to systemd are not tested: ${missing.join(' and ')} is not installed.`)

const PRINT_DATAGRAMS = `
import socket, sys, time
reports = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
reports.bind(sys.argv[1])
print("listening", flush=True)
while len(sys.argv) > 2: time.sleep(1000)
while True: print(reports.recv(65536).decode().replace("\\n", " "), flush=True)
`

/** Listens on a socket like systemd's. Returns its path, and what was sent to it, a line each; options: `unread`. */
async function listenForReports(...options: 'unread'[]): Promise<{ socket: string; reports(): string[] }> {
  const socket = path.join(temporaryFolder(), 'notify')
  const listener = spawn('python3', ['-c', PRINT_DATAGRAMS, socket, ...options], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
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
  const server = await startServerProcess({
    DATABASE_URL: temporaryDatabase().url,
    NOTIFY_SOCKET: socket,
    SHUTDOWN_TIMEOUT: '1m',
  })
  await until(() => reports().length >= 3, PATIENCE)
  // Without an incomplete request, the shutdown would wait only two seconds for the reports.
  const connection = await openSocket(server.url)
  connection.write('GET / HTTP/1.1\r\nHost: x\r\n')
  await (await fetch(`${server.url}/nowhere`)).text()
  const ended = server.end()
  await until(() => reports().length >= 5, PATIENCE)
  connection.destroy()
  expect(await ended).toBe(0)
  expect(reports()).toEqual([
    expect.stringMatching(/^STATUS=Migrating the database \(\d+ pending\); this can take minutes$/),
    `STATUS=Serving ${server.url}`,
    'READY=1',
    'STATUS=Shutting down',
    'STOPPING=1',
  ])
})

test.skipIf(missing.length > 0)('a watchdog is notified repeatedly while the event loop is alive', async () => {
  const { socket, reports } = await listenForReports()
  const environment = { DATABASE_URL: temporaryDatabase().url, NOTIFY_SOCKET: socket, WATCHDOG_USEC: '600000' }
  const server = await startServerProcess(environment)
  await until(() => reports().filter((report) => report === 'WATCHDOG=1').length >= 3, PATIENCE)
  expect(await server.end()).toBe(0)
})

/** Starts a server with a watchdog that expects five reports a second, and finds the process that sends the reports. */
async function startWatched(socket: string) {
  const environment = { DATABASE_URL: temporaryDatabase().url, NOTIFY_SOCKET: socket, WATCHDOG_USEC: '600000' }
  const server = await startServerProcess(environment)
  const children = readFileSync(`/proc/${server.pid}/task/${server.pid}/children`, 'utf8').trim().split(' ')
  return { server, sender: Number(children.find((id) => isRunning(id) && commandOf(id).startsWith('sh\0'))) }
}

const commandOf = (id: string) => readFileSync(`/proc/${id}/cmdline`, 'utf8')

/** Whether a process runs; one that has ended may still have an entry. */
function isRunning(id: number | string): boolean {
  return existsSync(`/proc/${id}/stat`) && !/\) Z /.test(readFileSync(`/proc/${id}/stat`, 'utf8'))
}

describe.skipIf(missing.length > 0)('the process that sends the reports', () => {
  test('outlives the signals that every process of a service may get', async () => {
    const { socket, reports } = await listenForReports()
    const { server, sender } = await startWatched(socket)
    for (const signal of ['SIGHUP', 'SIGINT', 'SIGTERM', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2'] as const) {
      process.kill(-sender, signal)
    }
    const before = reports().length
    await until(() => reports().length >= before + 3, PATIENCE)
    expect(isRunning(sender)).toBe(true)
    expect(server.output()).not.toContain('not notified')
    expect(await server.end()).toBe(0)
  })

  test('is started again, with a warning, after it was killed', async () => {
    const { socket, reports } = await listenForReports()
    const { server, sender } = await startWatched(socket)
    process.kill(sender, 'SIGKILL')
    await until(() => server.output().includes('the process that sends reports has ended'), PATIENCE)
    const before = reports().length
    await until(() => reports().length >= before + 3, PATIENCE)
    expect(await server.end()).toBe(0)
  })

  test('is ended at shutdown although systemd reads nothing', async () => {
    const { socket } = await listenForReports('unread')
    const { server, sender } = await startWatched(socket)
    expect(await server.end()).toBe(0)
    expect(server.output()).toContain('systemd has not read the reports within 2 seconds')
    await until(() => !isRunning(sender), PATIENCE)
  })
})

test('a watchdog that systemd does not read is notified no more until it reads again', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  onTestFinished(() => void vi.useRealTimers())
  const folder = temporaryFolder()
  const sent = () => (existsSync(`${folder}/sent`) ? readFileSync(`${folder}/sent`, 'utf8').trim().split('\n') : [])
  // Stands in for systemd-notify while systemd hangs.
  const script = `#!/bin/sh\necho "$1" >> ${folder}/sent\nuntil [ -e ${folder}/reading ]; do sleep 0.05; done\n`
  writeFileSync(`${folder}/systemd-notify`, script, { mode: 0o755 })
  const environment = { NOTIFY_SOCKET: '/nowhere', PATH: `${folder}:${process.env['PATH']}`, WATCHDOG_USEC: '3000000' }
  const reports = reportState(environment, process.pid, pino({ level: 'silent' }))
  reports.ready('http://127.0.0.1:3000')
  await until(() => sent().length === 1, PATIENCE)
  vi.advanceTimersByTime(100_000)
  writeFileSync(`${folder}/reading`, '')
  await until(() => {
    vi.advanceTimersByTime(1_000)
    return sent().includes('WATCHDOG=1')
  }, PATIENCE)
  expect(sent().slice(0, 3)).toEqual(['STATUS=Serving http://127.0.0.1:3000', 'READY=1', 'WATCHDOG=1'])
  reports.stopping()
  await until(() => sent().at(-1) === 'STOPPING=1', PATIENCE)
  await reports.close()
  expect(sent().length).toBeLessThan(10)
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
  for (const reports of [others, own]) reports.stopping()
  expect(vi.getTimerCount()).toBe(0)
  await Promise.all([others.close(), own.close()])
})

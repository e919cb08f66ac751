/** A reader of the log that stops reading does not stop the service. */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { constants, openSync } from 'node:fs'
import { Socket } from 'node:net'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { collect } from '../../../test/helpers/collect.ts'
import { newDatabase } from '../../../test/helpers/database/databases.ts'
import { connect } from '../../../test/helpers/database/sqlite.ts'
import { freePort } from '../../../test/helpers/free-port.ts'
import { commandLine } from '../../../test/helpers/server/run-command.ts'
import { temporaryFolder } from '../../../test/helpers/temporary-folder.ts'
import { until } from '../../../test/helpers/until.ts'
import { runInProcess } from '../helpers/commands/run-in-process.ts'
import { eventLines, readLines } from '../helpers/telemetry/log-lines.ts'

/** The longest name, so that few lines are much: 800 bytes in each. */
const ACCOUNT = '\u{1fab4}'.repeat(200)
/** More lines than the pipe and the server take together. */
const MANY = 1_500
const FAILURES = 200

/** Starts a server whose log nothing reads yet, and lists plants many times. */
async function startUnread() {
  const DATABASE_URL = await newDatabase()
  const { stdout } = await runInProcess(['token', 'create', '--account', ACCOUNT], { DATABASE_URL })
  const port = await freePort()
  // Its two ends are opened on their own, as those of another process would be.
  const pipe = path.join(temporaryFolder(), 'pipe')
  execFileSync('mkfifo', [pipe])
  const readable = openSync(pipe, constants.O_RDONLY | constants.O_NONBLOCK)
  const child = spawn(process.execPath, commandLine(['serve']).slice(1), {
    env: { DATABASE_URL, PORT: String(port), SHUTDOWN_DELAY: '0', LOG_LEVEL: 'debug' },
    stdio: ['ignore', openSync(pipe, 'w'), 'inherit'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  const headers = { authorization: `Bearer ${stdout.trim()}`, 'content-type': 'application/json' }
  const call = async (options: RequestInit = {}) => {
    const response = await fetch(`http://127.0.0.1:${port}/plants`, { headers, ...options })
    await response.text()
    return response.status
  }
  const list = async (count: number) => {
    for (let called = 0; called < count; called += 50) {
      const statuses = await Promise.all(Array.from({ length: 50 }, () => call()))
      expect(new Set(statuses)).toEqual(new Set([200]))
    }
  }
  await until(async () => (await call().catch(() => 0)) === 200)
  await list(MANY)
  /** Begins to read, and returns what returns all that has been read. */
  const read = () => {
    const socket = new Socket({ fd: readable, readable: true, writable: false })
    onTestFinished(() => void socket.destroy())
    return collect(socket)
  }
  return { child, databaseUrl: DATABASE_URL, call, list, read }
}

test('while nothing reads the log, requests are served, failures rejected, and what does not fit is dropped in whole lines', async () => {
  const { child, call, list, databaseUrl, read } = await startUnread()
  const other = connect(fileURLToPath(databaseUrl))
  other.exec('BEGIN IMMEDIATE')
  // Each failure of the database has a line, too.
  const create = () => call({ method: 'POST', body: '{"id": 1, "name": "Ficus"}' })
  expect(new Set(await Promise.all(Array.from({ length: FAILURES }, create)))).toEqual(new Set([503]))
  other.close()
  await list(50)
  const output = read()
  await until(async () => {
    await call({ headers: { 'x-request-id': 'caught-up' } })
    return output().includes('caught-up')
  })
  child.kill('SIGTERM')
  expect(await once(child, 'exit')).toEqual([0, null])
  await until(() => output().includes('"closing"'))
  const written = eventLines(output(), 'request').length
  expect(written).toBeGreaterThan(0)
  expect(written).toBeLessThan(MANY + FAILURES)
  // Every line is whole.
  expect(readLines(output())).toHaveLength(output().split('\n').length - 1)
})

test('a server whose log nothing ever reads shuts down', async () => {
  const { child } = await startUnread()
  child.kill('SIGTERM')
  expect(await once(child, 'exit')).toEqual([0, null])
})

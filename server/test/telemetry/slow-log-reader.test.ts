/** A reader of the log that stops reading does not stop the service. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { constants, openSync } from 'node:fs'
import { Socket } from 'node:net'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import Sqlite from 'better-sqlite3'
import { expect, onTestFinished, test } from 'vitest'
import { newDatabase } from '../../../test/helpers/database/databases.ts'
import { freePort } from '../../../test/helpers/free-port.ts'
import { commandLine } from '../../../test/helpers/server/run-command.ts'
import { temporaryFolder } from '../../../test/helpers/temporary-folder.ts'
import { until } from '../../../test/helpers/until.ts'
import { runInProcess } from '../helpers/commands/run-in-process.ts'
import { eventLines, readLines } from '../helpers/telemetry/log-lines.ts'

const PATIENCE = 60_000
/** The longest name, so that few lines are much: 800 bytes in each. */
const ACCOUNT = '\u{1fab4}'.repeat(200)
/** More lines than the pipe and the server take together. */
const MANY = 1_500
const FAILURES = 200

/** The reading end of a pipe. */
interface Reader {
  /** Returns what has been read. */
  output(): string
  /** Begins to read. */
  read(): void
}

/** A server whose log nothing reads yet. */
interface UnreadServer {
  child: ChildProcess
  databaseUrl: string
  call(count: number): Promise<void>
  /** Creates a plant, and returns the status of the response. */
  create(): Promise<number>
  reader: Reader
}

async function startUnread(): Promise<UnreadServer> {
  const DATABASE_URL = await newDatabase()
  const { stdout } = await runInProcess(['token', 'create', '--account', ACCOUNT], { DATABASE_URL })
  const port = await freePort()
  const { reader, writable } = createPipe()
  const child = spawn(process.execPath, commandLine(['serve']).slice(1), {
    env: { DATABASE_URL, PORT: String(port), SHUTDOWN_DELAY: '0', ACCESS_LOG: 'on' },
    stdio: ['ignore', writable, 'inherit'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  const url = `http://127.0.0.1:${port}/plants`
  const headers = { authorization: `Bearer ${stdout.trim()}`, 'content-type': 'application/json' }
  const respond = async (options: RequestInit = {}) => {
    const response = await fetch(url, { headers, ...options })
    await response.text()
    return response.status
  }
  await until(async () => (await respond().catch(() => 0)) === 200, PATIENCE)
  return {
    child,
    databaseUrl: DATABASE_URL,
    create: () => respond({ method: 'POST', body: '{"id": 1, "name": "Ficus"}' }),
    reader,
    async call(count) {
      for (let called = 0; called < count; called += 50) {
        const statuses = await Promise.all(Array.from({ length: 50 }, () => respond()))
        expect(new Set(statuses)).toEqual(new Set([200]))
      }
    },
  }
}

/** Creates a named pipe, whose two ends are opened on their own, as those of another process would be. */
function createPipe(): { reader: Reader; writable: number } {
  const file = path.join(temporaryFolder(), 'pipe')
  execFileSync('mkfifo', [file])
  const readable = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK)
  let output = ''
  const reader = {
    output: () => Buffer.from(output, 'latin1').toString(),
    read() {
      // Only now, since a paused stream would read, too.
      const socket = new Socket({ fd: readable, readable: true, writable: false })
      onTestFinished(() => void socket.destroy())
      socket.on('data', (bytes: Buffer) => {
        output += bytes.toString('latin1')
      })
    },
  }
  return { reader, writable: openSync(file, 'w') }
}

const counts = (output: string) => {
  const omitted = eventLines(output, 'requests omitted').map((line) => Number(line['omitted']))
  return { written: eventLines(output, 'request').length, omitted: omitted.reduce((sum, count) => sum + count, 0) }
}

test('while nothing reads the log, requests are served, failures rejected, and lines that are left out are counted', {
  timeout: 180_000,
}, async () => {
  const { child, call, create, databaseUrl, reader } = await startUnread()
  await call(MANY)
  const other = new Sqlite(fileURLToPath(databaseUrl))
  other.exec('BEGIN IMMEDIATE')
  // Each failure of the database has a line, too.
  const statuses = await Promise.all(Array.from({ length: FAILURES }, create))
  other.close()
  expect(new Set(statuses)).toEqual(new Set([503]))
  await call(50)
  reader.read()
  await until(() => counts(reader.output()).omitted > 0, PATIENCE)
  child.kill('SIGTERM')
  expect(await once(child, 'exit')).toEqual([0, null])
  await until(() => reader.output().includes('"closing"'), PATIENCE)
  // One of a request that waited for the server.
  const { written, omitted } = counts(reader.output())
  expect(written + omitted).toBeGreaterThanOrEqual(MANY + FAILURES)
  expect(written).toBeGreaterThan(0)
  // Every line is whole.
  expect(readLines(reader.output())).toHaveLength(reader.output().split('\n').length - 1)
})

test('a server whose log nothing ever reads shuts down', { timeout: 120_000 }, async () => {
  const { child, call } = await startUnread()
  await call(MANY)
  child.kill('SIGTERM')
  expect(await once(child, 'exit')).toEqual([0, null])
})

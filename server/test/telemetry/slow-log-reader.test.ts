/** A reader of the log that stops reading does not stop the service. */
import { execFileSync } from 'node:child_process'
import { constants, openSync } from 'node:fs'
import { Socket } from 'node:net'
import path from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { newDatabase } from '../../../test/helpers/database/databases.ts'
import { collect, freePort, startProgram, until } from '../../../test/helpers/programs.ts'
import { commandLine } from '../../../test/helpers/server/run-command.ts'
import { temporaryFolder } from '../../../test/helpers/temporary.ts'
import { readLines } from '../helpers/log-lines.ts'
import { runInProcess } from '../helpers/run-in-process.ts'

/** Each has a line: together more than the pipe and the server take. */
const REQUESTS = 4_000
/** How many are sent at the same time. */
const CLIENTS = 50
/** Makes a line long. */
const PADDING = 'x'.repeat(100)

test('while the log is not read, requests get responses, lines are dropped whole, and a signal ends the server', async () => {
  const DATABASE_URL = await newDatabase()
  const { stdout } = await runInProcess(['token', 'create', '--account', 'alice'], { DATABASE_URL })
  // Its two ends are opened on their own, as those of another process would be.
  const pipe = path.join(temporaryFolder(), 'pipe')
  execFileSync('mkfifo', [pipe])
  const reader = new Socket({ fd: openSync(pipe, constants.O_RDONLY | constants.O_NONBLOCK), writable: false })
  onTestFinished(() => void reader.destroy())
  const port = await freePort()
  const env = { DATABASE_URL, PORT: String(port), LOG_LEVEL: 'debug', SHUTDOWN_DELAY: '0' }
  const statusOf = async (requestId: string) => {
    const headers = { authorization: `Bearer ${stdout.trim()}`, 'x-request-id': requestId }
    return (await fetch(`http://127.0.0.1:${port}/plants`, { headers })).status
  }
  const send = async () => {
    for (let count = 0; count < REQUESTS; count += CLIENTS) {
      const statuses = await Promise.all(Array.from({ length: CLIENTS }, () => statusOf(`unread-${PADDING}`)))
      expect(new Set(statuses)).toEqual(new Set([200]))
    }
  }
  const command = ['sh', '-c', 'exec "$@" >"$0"', pipe, ...commandLine(['serve'])]
  const server = await startProgram(command, async () => (await statusOf('first')) === 200, { env })
  await send()

  const written = collect(reader)
  await until(async () => (await statusOf('caught-up')) === 200 && written().includes('"caught-up"'))
  const read = written().slice(0, written().lastIndexOf('\n'))
  expect(readLines(`${read}\n`)).toHaveLength(read.split('\n').length)
  expect(read.split(`"unread-${PADDING}"`).length).toBeLessThan(REQUESTS)
  expect(read).toContain('lines of the log could not be written')

  reader.pause()
  await send()
  expect(await server.stop()).toBe(0)
})

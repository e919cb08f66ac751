/** A reader of the log that stops reading does not stop the service. */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { constants, openSync } from 'node:fs'
import { Socket } from 'node:net'
import path from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { collect } from '../../../test/helpers/collect.ts'
import { newDatabase, runSql } from '../../../test/helpers/database/databases.ts'
import { freePort } from '../../../test/helpers/free-port.ts'
import { commandLine } from '../../../test/helpers/server/run-command.ts'
import { temporaryFolder } from '../../../test/helpers/temporary-folder.ts'
import { until } from '../../../test/helpers/until.ts'
import { runInProcess } from '../helpers/commands/run-in-process.ts'
import { readLines } from '../helpers/telemetry/log-lines.ts'

/** Each has a line with a stack: together more than the pipe and the server take. */
const FAILURES = 2_000

test('while nothing reads the log, requests get their responses, lines are dropped whole, and the server shuts down', async () => {
  const DATABASE_URL = await newDatabase()
  const { stdout } = await runInProcess(['token', 'create', '--account', 'alice'], { DATABASE_URL })
  // Its two ends are opened on their own, as those of another process would be.
  const pipe = path.join(temporaryFolder(), 'pipe')
  execFileSync('mkfifo', [pipe])
  const reader = new Socket({ fd: openSync(pipe, constants.O_RDONLY | constants.O_NONBLOCK), writable: false })
  const port = await freePort()
  const child = spawn(process.execPath, commandLine(['serve']).slice(1), {
    env: { DATABASE_URL, PORT: String(port), SHUTDOWN_DELAY: '0' },
    stdio: ['ignore', openSync(pipe, 'w'), 'inherit'],
  })
  onTestFinished(() => {
    reader.destroy()
    child.kill('SIGKILL')
  })
  const statusOf = async (requestId: string) => {
    const headers = { authorization: `Bearer ${stdout.trim()}`, 'x-request-id': requestId }
    return (await fetch(`http://127.0.0.1:${port}/plants`, { headers })).status
  }
  const fail = async () => {
    for (let count = 0; count < FAILURES; count++) expect(await statusOf('unread')).toBe(500)
  }
  await until(async () => (await statusOf('first').catch(() => 0)) === 200)
  await runSql(DATABASE_URL, 'ALTER TABLE "Plant" RENAME TO "Gone"')
  await fail()

  const output = collect(reader)
  await until(async () => (await statusOf('caught-up')) === 500 && output().includes('caught-up'))
  const read = output().slice(0, output().lastIndexOf('\n'))
  expect(readLines(`${read}\n`)).toHaveLength(read.split('\n').length)
  expect(read.split('unread').length).toBeLessThan(FAILURES)

  reader.pause()
  await fail()
  child.kill('SIGTERM')
  expect(await once(child, 'exit')).toEqual([0, null])
})

/** A reader of the log that stops reading does not stop the service. */
import { execFileSync, spawn } from 'node:child_process'
import { constants, openSync, readFileSync } from 'node:fs'
import { Socket } from 'node:net'
import path from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { newDatabase, runSql } from '../../../test/helpers/database/databases.ts'
import { collect, freePort, until } from '../../../test/helpers/programs.ts'
import { commandLine } from '../../../test/helpers/server/run-command.ts'
import { temporaryFolder } from '../../../test/helpers/temporary.ts'
import { readLines } from '../helpers/log-lines.ts'
import { runInProcess } from '../helpers/run-in-process.ts'

/** Each has a line with a stack: together more than the pipe and the server take. */
const FAILURES = 2_000
/** How many requests are sent at the same time. */
const CLIENTS = 50
const FAULT_ON_SIGNAL = `--import data:text/javascript,process.once('SIGUSR2',()=>{throw%20new%20Error('on%20purpose')})`

/** How a server is started whose output goes to this process: through a pipe, or through a terminal as well. */
const OUTPUTS = {
  pipe: (command: string) => ['sh', '-c', command],
  // It stops reading the terminal while nothing reads what it writes.
  terminal: (command: string) => ['script', '--quiet', '--command', command, '/dev/null'],
}

test.each([
  ['pipe', 'SIGTERM', 0],
  ['terminal', 'SIGTERM', 0],
  ['terminal', 'SIGUSR2', 1],
] as const)(
  'while a %s is not read, requests get responses, lines are dropped whole, and %s ends the server',
  async (output, signal, exitCode) => {
    const DATABASE_URL = await newDatabase()
    const { stdout } = await runInProcess(['token', 'create', '--account', 'alice'], { DATABASE_URL })
    const folder = temporaryFolder()
    // Its two ends are opened on their own, as those of another process would be.
    const pipe = path.join(folder, 'pipe')
    execFileSync('mkfifo', [pipe])
    const reader = new Socket({ fd: openSync(pipe, constants.O_RDONLY | constants.O_NONBLOCK), writable: false })
    const port = await freePort()
    const command = `${commandLine(['serve'])
      .map((part) => `'${part}'`)
      .join(' ')} & echo $! >pid; wait $!; echo $? >code`
    const [program = '', ...parameters] = OUTPUTS[output](command)
    const child = spawn(program, parameters, {
      cwd: folder,
      env: {
        PATH: process.env['PATH'],
        DATABASE_URL,
        PORT: String(port),
        SHUTDOWN_DELAY: '0',
        NODE_OPTIONS: FAULT_ON_SIGNAL,
      },
      stdio: ['ignore', openSync(pipe, 'w'), 'inherit'],
    })
    const code = () => readFileSync(path.join(folder, 'code'), { encoding: 'utf8', flag: 'a+' })
    const kill = (name: NodeJS.Signals) => process.kill(Number(readFileSync(path.join(folder, 'pid'))), name)
    onTestFinished(() => {
      reader.destroy()
      child.kill('SIGKILL')
      if (code() === '') kill('SIGKILL')
    })
    const statusOf = async (requestId: string) => {
      const headers = { authorization: `Bearer ${stdout.trim()}`, 'x-request-id': requestId }
      return (await fetch(`http://127.0.0.1:${port}/plants`, { headers })).status
    }
    const fail = async () => {
      for (let count = 0; count < FAILURES; count += CLIENTS) {
        const statuses = await Promise.all(Array.from({ length: CLIENTS }, () => statusOf('unread')))
        expect(new Set(statuses)).toEqual(new Set([500]))
      }
    }
    await until(async () => (await statusOf('first').catch(() => 0)) === 200)
    await runSql(DATABASE_URL, 'ALTER TABLE "Plant" RENAME TO "Gone"')
    await fail()

    const written = collect(reader)
    await until(async () => (await statusOf('caught-up')) === 500 && written().includes('caught-up'))
    const read = written().slice(0, written().lastIndexOf('\n'))
    if (output === 'pipe') expect(readLines(`${read}\n`)).toHaveLength(read.split('\n').length)
    expect(read.split('unread').length).toBeLessThan(FAILURES)
    expect(read).toContain('lines of the log could not be written')

    reader.pause()
    await fail()
    kill(signal)
    await until(() => code() !== '')
    expect(Number(code())).toBe(exitCode)
  },
)

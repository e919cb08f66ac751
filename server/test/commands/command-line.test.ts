/** The command line in processes of its own, and the help of all commands. */
import { execFile } from 'node:child_process'
import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { promisify } from 'node:util'
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { commandLine, runCommand } from '../../../test/helpers/server/run-command.ts'
import { temporaryDatabase, temporaryFolder } from '../../../test/helpers/temporary.ts'
import { createProgress } from '../../src/commands/context.ts'
import { openMemory } from '../helpers/log-lines.ts'
import { runInProcess } from '../helpers/run-in-process.ts'

let environment: { DATABASE_URL: string }
beforeEach(() => {
  environment = { DATABASE_URL: temporaryDatabase().url }
})

const { version } = JSON.parse(await readFile(new URL('../../package.json', import.meta.url), 'utf8'))

test('commands print results and the log apart, and have an exit code', async () => {
  for (const [command, exitCode, stdout, stderr] of [
    ['migrate --check', 1, /^$/, /plants\.db does not exist: .*"plant-store migrate"/],
    ['migrate', 0, /^Applied: \d+_initial/, /^$/],
    ['migrate --check', 0, /^The database is up to date\.\n$/, /^$/],
    ['migrate', 0, /^The database is up to date\.\n$/, /^$/],
    ['token revoke none', 1, /^$/, /^plant-store: token "none" does not/],
    ['serv', 2, /^$/, /Did you mean serve\?/],
    ['--version', 0, new RegExp(`^${version}\n$`), /^$/],
  ] as const) {
    const printed = { stdout: expect.stringMatching(stdout), stderr: expect.stringMatching(stderr) }
    expect(await runInProcess(command.split(' '), environment)).toEqual({ exitCode, ...printed })
  }
  // A process of its own has them, too.
  expect(await runCommand(['token', 'create', '--account', 'me'], environment)).toEqual({
    exitCode: 0,
    stdout: expect.stringMatching(/^pst_\w{49}\n$/),
    stderr: expect.stringMatching(/^\{.*"event":"token created".*\}\n$/),
  })
})

test.skipIf(!existsSync('/dev/full'))('an output that cannot be written is an error in one line', async () => {
  await runInProcess(['migrate'], environment)
  const command = ['sh', ...commandLine(['token', 'create', '--account', 'me'])]
  const shell = promisify(execFile)('sh', ['-c', '"$@" >/dev/full', ...command], { env: environment })
  const stderr = expect.stringMatching(/^\{.*\}\nplant-store: standard output cannot be written: ENOSPC.*\n$/)
  await expect(shell).rejects.toMatchObject({ code: 1, stderr })
})

test('commands create and migrate nothing, and say what to run', async () => {
  const folder = temporaryFolder()
  const outdated = path.join(folder, 'plants.db')
  writeFileSync(outdated, '')
  const missing = path.join(folder, 'typo', 'plants.db')
  const stderr = expect.stringMatching(/^plant-store: \S+plants\.db .*"plant-store migrate".*\n$/)
  // An outdated database can be backed up.
  for (const [command, ...files] of [
    ['token create --account alice', missing, outdated],
    ['token list', missing, outdated],
    ['backup copy.db', missing],
  ] as const) {
    for (const file of files) {
      const result = await runInProcess(command.split(' '), { DATABASE_URL: `file:${file}` })
      expect(result, command).toEqual({ exitCode: 1, stdout: '', stderr })
    }
  }
  expect(readdirSync(folder)).toEqual(['plants.db'])
})

test('the README lists every command with the options of its help', async () => {
  const readme = await readFile(new URL('../../README.md', import.meta.url), 'utf8')
  const [, rows = ''] = /^\| command \| what it does \|\n\|---\|---\|\n((?:\|.*\n)+)/m.exec(readme) ?? []
  const usages = [...rows.matchAll(/^\| `([^`]+)`/gm)].map(([, usage = '']) => usage)
  const nameOf = (usage: string) => usage.replace(/ +(?:\[?--|[A-Z]).*/, '')
  const optionsIn = (text: string) => text.match(/--[a-z-]+/g) ?? []
  expect(usages.map(nameOf)).toEqual(await listCommands())
  for (const usage of usages) {
    const help = await helpOf(nameOf(usage))
    const options = help.match(/(?<=^ {2})--[a-z-]+/gm) ?? []
    expect(optionsIn(usage), usage).toEqual(options)
  }
})

async function helpOf(command: string): Promise<string> {
  const { exitCode, stdout } = await runInProcess([...command.split(' '), '--help'].filter(Boolean))
  expect(exitCode, command).toBe(0)
  return stdout
}

/** Returns the commands that the help lists, such as `token create`. */
async function listCommands(parent = ''): Promise<string[]> {
  const [, section = ''] = /\nCommands:\n((?: .*\n)+)/.exec(await helpOf(parent)) ?? []
  const names = [...section.matchAll(/^ {2}([a-z]+)/gm)].map(([, name = '']) => name).filter((name) => name !== 'help')
  const found = names.map((name) => (name === 'token' ? listCommands(name) : [`${parent} ${name}`.trim()]))
  return (await Promise.all(found)).flat()
}

test('progress is shown every five seconds, and ends', () => {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  const { stream, text } = openMemory()
  const { progress, end } = createProgress(stream)
  vi.advanceTimersByTime(4_900)
  expect(text()).toBe('')
  vi.advanceTimersByTime(200)
  progress('1 of 9')
  vi.advanceTimersByTime(5_000)
  end()
  vi.advanceTimersByTime(60_000)
  expect(text()).toBe('Waiting for the database\n1 of 9\n')
})

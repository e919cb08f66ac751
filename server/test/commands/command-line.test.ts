/** The commands migrate and backup, and the help of all commands. */
import { execFile } from 'node:child_process'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { promisify } from 'node:util'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { startPostgresql } from '../../../test/helpers/database/postgresql.ts'
import { runSql } from '../../../test/helpers/database/sqlite.ts'
import { isLong } from '../../../test/helpers/long-tests.ts'
import { commandLine, runCommand, startServerProcess } from '../../../test/helpers/server/run-command.ts'
import { temporaryFolder } from '../../../test/helpers/temporary-folder.ts'

if (!isLong)
  console.log('server/test/commands/command-line.test.ts runs in part: PLANT_STORE_LONG_TESTS=1 runs all of it')

let folder: string
let environment: { DATABASE_URL: string }
beforeEach(() => {
  folder = temporaryFolder()
  environment = { DATABASE_URL: `file:${path.join(folder, 'plant-store.db')}` }
})

test('migrate updates a database, and reports if there is nothing to do', async () => {
  expect((await runCommand(['migrate'], environment)).stdout).toMatch(/^Applied: \d+_initial/)
  expect((await runCommand(['migrate'], environment)).stdout).toContain('up to date')
})

test('backup copies the database while the server runs, but never over a file', async () => {
  const server = await startServerProcess(environment)
  const copy = path.join(folder, 'copy.db')
  try {
    const token = /pst_\w+/.exec(server.output())?.[0]
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    await fetch(`${server.url}/plants`, { method: 'POST', headers, body: '{"id":9223372036854775807,"name":"Ficus"}' })
    const { exitCode, stdout } = await runCommand(['backup', copy], environment)
    expect([exitCode, stdout]).toEqual([0, expect.stringContaining(copy)])
    const bytes = await readFile(copy)
    const again = await runCommand(['backup', copy], environment)
    expect(again.exitCode).toBe(1)
    expect(again.stderr).toMatch(/^plant-store: .*copy\.db.*\n$/)
    expect(await readFile(copy)).toEqual(bytes)

    const restored = await startServerProcess({ DATABASE_URL: `file:${copy}` })
    expect(await (await fetch(`${restored.url}/plants`, { headers })).json()).toEqual([{ name: 'Ficus' }])
    expect(await restored.end()).toBe(0)
  } finally {
    await server.end()
  }
})

// On other systems, `script` takes other arguments.
test.skipIf(process.platform !== 'linux')(
  'backup shows its progress in a terminal, apart from its result',
  async () => {
    await runCommand(['migrate'], environment)
    const file = environment.DATABASE_URL.replace('file:', '')
    runSql(file, `INSERT INTO Plant (account, id, name) VALUES ('alice', '1', hex(zeroblob(16000000)))`)
    const copy = path.join(folder, 'copy.db')
    const result = path.join(folder, 'result')
    const command = [...commandLine(['backup', copy]), '>', result].join(' ')
    const { stdout } = await promisify(execFile)('script', ['--quiet', '--return', '--command', command, '/dev/null'], {
      env: { ...process.env, ...environment },
    })
    // Each line replaces the one before, and the last one is removed.
    const lines = stdout.split('\r').slice(1)
    expect(lines.pop()).toBe('\x1b[K')
    expect(lines.length).toBeGreaterThan(0)
    for (const line of lines) {
      const [text, end] = line.split('\x1b')
      expect(text).toMatch(/^(\[#*-*\] copying \d+%: \d+ MB, \d+ MB\/s(, \d+ s left)?|checking the copy: \d+ s)$/)
      expect(end).toBe('[K')
    }
    expect(await readFile(result, 'utf8')).toBe(`The database is copied to ${copy}.\n`)
  },
)

test('--help lists the commands and exits with 0', async () => {
  const { exitCode, stdout } = await runCommand(['--help'])
  expect(exitCode).toBe(0)
  for (const command of ['serve', 'token', 'migrate', 'backup', 'copy']) expect(stdout).toContain(command)
})

test('the README lists every command, with the arguments and options of its help', async () => {
  const readme = await readFile(new URL('../../README.md', import.meta.url), 'utf8')
  const [, rows = ''] = /^\| command \| what it does \|\n\|---\|---\|\n((?:\|.*\n)+)/m.exec(readme) ?? []
  const usages = [...rows.matchAll(/^\| `([^`]+)`/gm)].map(([, usage = '']) => usage)
  const nameOf = (usage: string) => usage.replace(/ +(?:\[?--|[A-Z]).*/, '')
  expect(usages.map(nameOf)).toEqual(await listCommands())
  for (const usage of usages) {
    const { stdout: help } = await runCommand([...nameOf(usage).split(' '), '--help'])
    const options = [...help.matchAll(/^ {2}(--[a-z-]+)/gm)].map(([, option]) => option)
    expect(
      [...usage.matchAll(/--[a-z-]+/g)].map(([option]) => option),
      usage,
    ).toEqual(options)
    expect(/^Usage: .*<\w+>/m.test(help), usage).toBe(/ [A-Z]+$/.test(usage.replace(/\[?--.*/, '')))
    const defaults = [...help.matchAll(/\(default: "(.*)"\)/g)].map(([, value]) => ` ${value}]`)
    for (const value of defaults) expect(usage).toContain(value)
  }
})

/** Returns the commands that the help lists, such as `token create`. */
async function listCommands(...parents: string[]): Promise<string[]> {
  const { stdout } = await runCommand([...parents, '--help'])
  const [, section = ''] = /\nCommands:\n((?: .*\n)+)/.exec(stdout) ?? []
  const names = [...section.matchAll(/^ {2}([a-z]+)/gm)].map(([, name = '']) => name).filter((name) => name !== 'help')
  const found = await Promise.all(
    names.map(async (name) => (name === 'token' ? listCommands(name) : [[...parents, name].join(' ')])),
  )
  return found.flat()
}

test('--version prints the version of the package', async () => {
  const { version } = JSON.parse(await readFile(new URL('../../package.json', import.meta.url), 'utf8'))
  expect(await runCommand(['--version'])).toEqual({ exitCode: 0, stdout: `${version}\n`, stderr: '' })
})

test.skipIf(!isLong)(
  'the help of every command has examples, and each of them works as pasted',
  { timeout: 180_000 },
  async () => {
    const postgresql = await startPostgresql()
    onTestFinished(postgresql.remove)
    const shared = postgresql.url('plants')
    const bin = path.join(folder, 'bin')
    await mkdir(bin)
    await writeFile(path.join(bin, 'plant-store'), `#!/bin/sh\nexec ${commandLine([]).join(' ')} "$@"\n`, {
      mode: 0o755,
    })
    const shell = (script: string) =>
      promisify(execFile)('sh', ['-euc', script], {
        cwd: folder,
        env: { ...environment, PATH: `${bin}:${process.env['PATH']}` },
      })
    const { stdout: id } = await shell(
      `plant-store migrate >/dev/null; plant-store token create --account me >/dev/null && plant-store token list | awk 'END { print $1 }'`,
    )

    for (const command of ['', 'token', ...(await listCommands())]) {
      const { stdout } = await runCommand([...command.split(' ').filter(Boolean), '--help'])
      const examples = /\nExamples?:\n((?: {2}.+\n)+)/.exec(stdout)?.[1]?.trim().split(/\n */) ?? []
      expect(examples.length, `plant-store ${command} --help`).toBeGreaterThan(0)
      for (const example of examples) {
        expect(example).toContain(`plant-store ${command}`.trim())
        // Other tests start servers.
        if (!/ serve$/.test(example))
          await shell(example.replace('ID', id.trim()).replace('postgresql://localhost/plants', shared))
      }
    }
  },
)

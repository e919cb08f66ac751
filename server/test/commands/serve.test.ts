import { execFile } from 'node:child_process'
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import path from 'node:path'
import { promisify } from 'node:util'
import { migrateDatabase } from '@plant-store/prisma'
import BetterSqlite3 from 'better-sqlite3'
import { beforeEach, describe, expect, test } from 'vitest'
import { isLong } from '../../../test/helpers/long-tests.ts'
import { commandLine, runCommand, startServerProcess } from '../../../test/helpers/server/run-command.ts'
import { temporaryFolder } from '../../../test/helpers/temporary-folder.ts'

if (!isLong) console.log('server/test/commands/serve.test.ts runs in part: PLANT_STORE_LONG_TESTS=1 runs all of it')

let folder: string
let environment: { DATABASE_URL: string }
beforeEach(async () => {
  folder = temporaryFolder()
  environment = { DATABASE_URL: `file:${path.join(folder, 'data', 'plant-store.db')}` }
})

describe('serve', () => {
  test('prints, on an empty database, a curl line that creates a plant as pasted, and one that lists it', async () => {
    const server = await startServerProcess(environment)
    try {
      const [create = '', list = ''] = server.output().match(/^ {2}curl .*$/gm) ?? []
      const shell = promisify(execFile)
      expect((await shell('sh', ['-c', create])).stdout).toBe('{"name":"Monstera deliciosa","tag":"aroid"}')
      expect((await shell('sh', ['-c', list])).stdout).toBe('[{"name":"Monstera deliciosa","tag":"aroid"}]')
      expect(server.output()).toContain(`Or open ${server.url}/docs in a browser.`)
    } finally {
      expect(await server.end()).toBe(0)
    }
    const again = await startServerProcess(environment)
    expect(again.output()).not.toContain('curl')
    expect(await again.end('SIGINT')).toBe(0)
  })

  test('ends with exit code 0 when told to, and leaves one file: the database', async () => {
    const server = await startServerProcess(environment)
    expect(await server.end()).toBe(0)
    expect(await readdir(path.join(folder, 'data'))).toEqual(['plant-store.db'])
  })

  test('tells of all wrong settings at once, with exit code 2, and changes nothing', async () => {
    const { exitCode, stdout, stderr } = await runCommand(['serve'], {
      PORT: '99999',
      DATABASE_URL: 'postgres://x',
      PUBLIC_URL: 'plants',
      LOG_LEVEL: 'loud',
      BODY_LIMIT: 'big',
    })
    expect([exitCode, stdout]).toEqual([2, ''])
    for (const name of ['PORT', 'DATABASE_URL', 'PUBLIC_URL', 'LOG_LEVEL', 'BODY_LIMIT']) {
      expect(stderr).toMatch(new RegExp(`^  ${name} \\S`, 'm'))
    }
    expect(stderr).not.toContain('at ')
  })

  test('a port that is taken is one clear line, exit code 1, and nothing changed on disk', async () => {
    const other = createServer().listen(0, '127.0.0.1')
    await new Promise((resolve) => other.once('listening', resolve))
    const { port } = other.address() as AddressInfo
    const { exitCode, stderr } = await runCommand(['serve'], { ...environment, PORT: String(port) })
    other.close()
    expect(exitCode).toBe(1)
    expect(stderr).toBe(
      `plant-store: PORT ${port} on 127.0.0.1 is already in use. Stop the other program or set another PORT.\n`,
    )
    expect(await readdir(folder)).toEqual([])
  })

  test('an empty database that another process has locked is one clear line, and the ports are closed', async () => {
    const prepared = await startServerProcess({ ...environment, NODE_ENV: 'production' })
    expect(await prepared.end()).toBe(0)
    const file = path.join(folder, 'data', 'plant-store.db')
    const locker = new BetterSqlite3(file)
    try {
      locker.exec('DELETE FROM "Token"; BEGIN IMMEDIATE')
      const { exitCode, stdout, stderr } = await runCommand(['serve'], {
        ...environment,
        PORT: '0',
        SHUTDOWN_DELAY: '0',
      })
      expect(stderr).toMatch(/^plant-store: .*locked by another process.*(start again|retry)\.?\n$/)
      expect([exitCode, stdout]).toEqual([1, ''])
    } finally {
      locker.close()
    }
    const server = await startServerProcess(environment)
    expect(server.output()).toContain('curl')
    expect(await server.end()).toBe(0)
  })

  test('a file that is no database is one clear line, exit code 1, and stays as it is', async () => {
    const file = path.join(folder, 'notes.txt')
    await writeFile(file, 'These are my notes, and they are longer than a hundred bytes. '.repeat(100))
    const before = await readFile(file)
    const { exitCode, stderr } = await runCommand(['serve'], { PORT: '0', DATABASE_URL: `file:${file}` })
    expect(exitCode).toBe(1)
    expect(stderr).toMatch(/^plant-store: .*notes\.txt.*\n$/)
    expect(await readFile(file)).toEqual(before)
    expect(await readdir(folder)).toEqual(['notes.txt'])
  })
})

describe('token', () => {
  const create = async (...options: string[]) =>
    (await runCommand(['token', 'create', '--account', 'alice', ...options], environment)).stdout.trim()

  test('create prints the token alone, and the server takes it at once', async () => {
    const server = await startServerProcess(environment)
    try {
      const { exitCode, stdout, stderr } = await runCommand(['token', 'create', '--account', 'alice'], environment)
      expect(exitCode).toBe(0)
      expect(stdout).toMatch(/^pst_[0-9A-Za-z]{49}\n$/)
      expect(stderr).not.toContain(stdout.trim())
      const headers = { authorization: `Bearer ${stdout.trim()}` }
      expect((await fetch(`${server.url}/plants`, { headers })).status).toBe(200)
    } finally {
      await server.end()
    }
  })

  test('list shows what create was told, never a token, and revoke ends one', async () => {
    await migrateDatabase(environment.DATABASE_URL)
    const tokens = [
      await create('--label', 'for the greenhouse', '--scope', 'read', '--expires', '90d'),
      await create(),
    ]
    const { stdout: json } = await runCommand(['token', 'list', '--json'], environment)
    const [first] = JSON.parse(json)
    expect(first).toMatchObject({ account: 'alice', scopes: ['read'], label: 'for the greenhouse', revokedAt: null })
    const days = (Date.parse(first.expiresAt) - Date.parse(first.createdAt)) / 86_400_000
    expect(Math.round(days)).toBe(90)

    const revoked = await runCommand(['token', 'revoke', first.id], environment)
    expect([revoked.exitCode, revoked.stdout]).toEqual([0, `revoked ${first.id} of the account "alice"\n`])
    const { stdout: table } = await runCommand(['token', 'list', '--account', 'alice'], environment)
    expect(table).toMatch(/^ID +ACCOUNT +SCOPES +CREATED +EXPIRES +REVOKED +LABEL\n/)
    expect(table).toContain('for the greenhouse')
    for (const token of tokens) expect(table + json).not.toContain(token)
    expect((await runCommand(['token', 'list', '--account', 'bob', '--json'], environment)).stdout).toBe('[]\n')
  }, 60_000)

  test('create takes the longest --expires, and list shows it exactly', async () => {
    await migrateDatabase(environment.DATABASE_URL)
    await create('--expires', '999999d')
    const [{ createdAt, expiresAt }] = JSON.parse((await runCommand(['token', 'list', '--json'], environment)).stdout)
    expect(Math.round((Date.parse(expiresAt) - Date.parse(createdAt)) / 86_400_000)).toBe(999_999)
  })

  test.each([
    ['token create', ['token', 'create'], /--account/],
    ['a wrong scope', ['token', 'create', '--account', 'a', '--scope', 'admin'], /--scope must be read or write/],
    ['a wrong time', ['token', 'create', '--account', 'a', '--expires', 'soon'], /--expires must be .* 90d/],
    ['a time too long', ['token', 'create', '--account', 'a', '--expires', '1000000d'], /--expires must be .* 999999d/],
    ['an empty account', ['token', 'create', '--account', ''], /--account must be/],
    ['an unknown id', ['token', 'revoke', 'nobody'], /no token with the id "nobody"/],
    ['a mistyped command', ['serv'], /Did you mean serve\?/],
  ])('%s is refused with exit code 2 and says what to do', async (_what, args, message) => {
    await migrateDatabase(environment.DATABASE_URL)
    const { exitCode, stdout, stderr } = await runCommand(args, environment)
    expect([exitCode, stdout]).toEqual([2, ''])
    expect(stderr).toMatch(message)
    expect(stderr).not.toContain('    at ')
  })
})

test('migrate brings a database up to date, and says when there is nothing to do', async () => {
  expect((await runCommand(['migrate'], environment)).stdout).toMatch(/^Applied: \d+_initial/)
  expect((await runCommand(['migrate'], environment)).stdout).toBe('The database is up to date.\n')
})

test('backup copies the database while the server runs, and never onto a file that exists', async () => {
  const server = await startServerProcess(environment)
  const copy = path.join(folder, 'copy.db')
  try {
    const token = /pst_\w+/.exec(server.output())?.[0]
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    await fetch(`${server.url}/plants`, { method: 'POST', headers, body: '{"id":9223372036854775807,"name":"Ficus"}' })
    const { exitCode, stdout } = await runCommand(['backup', copy], environment)
    expect([exitCode, stdout]).toEqual([0, `The database is copied to ${copy}.\n`])
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

test('--help lists the commands and exits with 0', async () => {
  const { exitCode, stdout } = await runCommand(['--help'])
  expect(exitCode).toBe(0)
  for (const command of ['serve', 'token', 'migrate', 'backup']) expect(stdout).toContain(command)
})

test.skipIf(!isLong)(
  'the help of every command has examples, and each of them works as it stands',
  { timeout: 180_000 },
  async () => {
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

    for (const command of ['', 'serve', 'token', 'token create', 'token list', 'token revoke', 'migrate', 'backup']) {
      const { stdout } = await runCommand([...command.split(' ').filter(Boolean), '--help'])
      const examples = /\nExamples?:\n((?: {2}.+\n)+)/.exec(stdout)?.[1]?.trim().split(/\n */) ?? []
      expect(examples.length, `plant-store ${command} --help`).toBeGreaterThan(0)
      for (const example of examples) {
        expect(example).toContain(`plant-store ${command}`.trim())
        // Those that serve are what the other tests start.
        if (!/ serve$/.test(example)) await shell(example.replace('ID', id.trim()))
      }
    }
  },
)

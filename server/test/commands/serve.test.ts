/** The command serve, as an operator sees it. */
import { execFile } from 'node:child_process'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import path from 'node:path'
import { promisify } from 'node:util'
import BetterSqlite3 from 'better-sqlite3'
import { beforeEach, expect, test } from 'vitest'
import { runCommand, startServerProcess } from '../../../test/helpers/server/run-command.ts'
import { temporaryFolder } from '../../../test/helpers/temporary-folder.ts'

let folder: string
let environment: { DATABASE_URL: string }
beforeEach(() => {
  folder = temporaryFolder()
  environment = { DATABASE_URL: `file:${path.join(folder, 'plant-store.db')}` }
})

test('prints curl lines that work as pasted if the database is empty', async () => {
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

test('names the database in the line "ready"', async () => {
  const server = await startServerProcess(environment)
  expect(server.output()).toMatch(new RegExp(`"database":"sqlite ${folder}/plant-store.db".*"msg":"ready"`))
  expect(await server.end()).toBe(0)
})

test.each([['serve'], ['migrate'], ['token', 'list'], ['backup', 'copy.db'], ['copy', '--from', 'file:x.db']])(
  'in production without a DATABASE_URL, %s is a mistake',
  async (...args) => {
    for (const empty of [{}, { DATABASE_URL: '' }]) {
      const { exitCode, stdout, stderr } = await runCommand(args, { NODE_ENV: 'production', PORT: '0', ...empty })
      expect({ exitCode, stdout, stderr }).toEqual({
        exitCode: 2,
        stdout: '',
        stderr: `plant-store: Fix these settings and start again:
  DATABASE_URL must be set with NODE_ENV=production, such as file:/srv/plants.db or postgresql://localhost/plants
`,
      })
    }
  },
)

test('reports a missing folder in one line, with exit code 1, and does not create it', async () => {
  for (const command of ['serve', 'migrate']) {
    const { exitCode, stderr } = await runCommand([command], { PORT: '0', DATABASE_URL: `file:${folder}/not/x.db` })
    expect([exitCode, stderr]).toEqual([
      1,
      `plant-store: ${folder}/not does not exist: create this folder, mount its disk, or check DATABASE_URL\n`,
    ])
  }
  expect(await readdir(folder)).toEqual([])
})

test.each([
  [{ HOST: '999.1.1.1' }, /HOST 999\.1\.1\.1 is not an address of this machine/],
  [{ HOST: '192.0.2.1' }, /HOST 192\.0\.2\.1 is not an address of this machine/],
  [
    { DATABASE_URL: 'postgresql://h/d?sslmode=verify-full&sslrootcert=/missing.pem' },
    /DATABASE_URL names the file \/missing\.pem as sslrootcert, which cannot be read \(ENOENT\)/,
  ],
  [{ DATABASE_URL: 'postgresql://h:1,i:2/d' }, /DATABASE_URL names several hosts/],
])('exits with 2, so that it is not restarted for ever, with %o', async (mistake, message) => {
  const result = await runCommand(['serve'], { ...environment, PORT: '0', ...mistake })
  expect(result).toMatchObject({ exitCode: 2, stderr: expect.stringMatching(message) })
})

test('exits with 0 on SIGTERM, and leaves one file: the database', async () => {
  const server = await startServerProcess(environment)
  expect(await server.end()).toBe(0)
  expect(await readdir(folder)).toEqual(['plant-store.db'])
})

test('reports all invalid settings together, with exit code 2', async () => {
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

test('reports a port in use in one line, with exit code 1, and changes nothing on disk', async () => {
  const other = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => other.once('listening', resolve))
  const { port } = other.address() as AddressInfo
  const reported = async (settings: Record<string, string>) => {
    const { exitCode, stderr } = await runCommand(['serve'], { ...environment, PORT: String(port), ...settings })
    expect(exitCode).toBe(1)
    expect(stderr).toMatch(new RegExp(`^plant-store: PORT ${port} .*\\n$`))
    expect(await readdir(folder)).toEqual([])
  }
  await reported({})
  other.close()
  await reported({ ADMIN_PORT: String(port) })
})

test('serves without a greeting while another process keeps an empty database locked', async () => {
  const prepared = await startServerProcess({ ...environment, NODE_ENV: 'production' })
  expect(await prepared.end()).toBe(0)
  const locker = new BetterSqlite3(path.join(folder, 'plant-store.db'))
  try {
    locker.exec('BEGIN IMMEDIATE')
    const server = await startServerProcess(environment)
    expect((await fetch(`${server.url}/plants`)).status).toBe(401)
    expect(await server.end()).toBe(0)
    expect(server.output()).toMatch(
      /"level":"warn".*"no token was printed: .*locked by another process.*create a token/,
    )
    expect(server.output()).not.toContain('curl')
  } finally {
    locker.close()
  }
  const server = await startServerProcess(environment)
  expect(server.output()).toContain('curl')
  expect(await server.end()).toBe(0)
})

test('reports a file that is not a database in one line, with exit code 1, and does not change it', async () => {
  const file = path.join(folder, 'notes.txt')
  await writeFile(file, 'These are my notes, and they are longer than a hundred bytes. '.repeat(100))
  const before = await readFile(file)
  const { exitCode, stderr } = await runCommand(['serve'], { PORT: '0', DATABASE_URL: `file:${file}` })
  expect(exitCode).toBe(1)
  expect(stderr).toMatch(/^plant-store: .*notes\.txt.*\n$/)
  expect(await readFile(file)).toEqual(before)
  expect(await readdir(folder)).toEqual(['notes.txt'])
})

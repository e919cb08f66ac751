/** The command serve, as an operator sees it: its greeting, and what keeps it from starting. */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import path from 'node:path'
import { promisify } from 'node:util'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { freePort } from '../../../test/helpers/free-port.ts'
import { commandLine, runCommand, startServerProcess } from '../../../test/helpers/server/run-command.ts'
import { temporaryFolder } from '../../../test/helpers/temporary-folder.ts'
import { until } from '../../../test/helpers/until.ts'
import { startServer } from '../../src/index.ts'
import { runInProcess } from '../helpers/commands/run-in-process.ts'
import { eventLines, readLines } from '../helpers/telemetry/log-lines.ts'

const DAY = 86_400_000

let folder: string
let file: string
let environment: { DATABASE_URL: string }
beforeEach(() => {
  folder = temporaryFolder()
  file = path.join(folder, 'plant-store.db')
  environment = { DATABASE_URL: `file:${file}` }
})

/** Reads the status of a response; undefined if nothing listens. */
const read = async (port: string) => (await fetch(`http://127.0.0.1:${port}/plants`).catch(() => undefined))?.status

test('the greeting of an empty database has curl lines that work as pasted, with a token for 7 days that is not logged, nor are requests', async () => {
  const server = await startServerProcess(environment)
  const [create = '', list = ''] = server.output().match(/^ {2}curl .*$/gm) ?? []
  const shell = promisify(execFile)
  expect((await shell('sh', ['-c', create])).stdout).toBe('{"name":"Monstera deliciosa","tag":"aroid"}')
  expect((await shell('sh', ['-c', list])).stdout).toBe('[{"name":"Monstera deliciosa","tag":"aroid"}]')
  expect(server.output()).toContain(`Or open ${server.url}/docs in a browser.`)
  expect(server.output()).toMatch(new RegExp(`"database":"sqlite ${file}".*"msg":"ready"`))
  expect(await server.end()).toBe(0)
  expect(await readdir(folder)).toEqual(['plant-store.db'])

  expect(server.output()).toMatch(/token of the account "demo".* 7 days/)
  const [token] = JSON.parse((await runInProcess(['token', 'list', '--json'], environment)).stdout)
  expect(Math.round((Date.parse(token.expiresAt) - Date.parse(token.createdAt)) / DAY)).toBe(7)
  const logged = eventLines(server.output(), 'token created')
  expect(eventLines(server.output(), 'request')).toEqual([])
  expect(logged).toMatchObject([{ tokenId: token.id, account: 'demo', expiresAt: token.expiresAt }])
  expect(JSON.stringify(logged)).not.toContain('pst_')

  const again = await startServerProcess(environment)
  expect(again.output()).not.toContain('curl')
  expect(await again.end('SIGINT')).toBe(0)
})

test('the greeting in production is a line of the log, as all output is, with a command that creates a token', async () => {
  const server = await startServerProcess({ ...environment, NODE_ENV: 'production' })
  expect(await server.end()).toBe(0)
  expect(readLines(server.output())).toHaveLength(server.output().trimEnd().split('\n').length)
  expect(server.output()).not.toContain('pst_')
  const [line] = eventLines(server.output(), 'empty database')
  expect(line).toMatchObject({ level: 'info', msg: expect.stringMatching(/^the plant store is empty: create a tok/) })
  const [, command = ''] =
    /with "npm run --silent plant-store -- (.*)" and the same DATABASE_URL/.exec(String(line?.['msg'])) ?? []
  expect((await runInProcess(command.split(' '), environment)).stdout).toMatch(/^pst_\w{49}\n$/)
})

test.skipIf(!existsSync('/dev/full'))('an output that cannot be written does not stop the server', async () => {
  const port = String(await freePort())
  const words = commandLine(['serve']).map((word) => `'${word}'`)
  const env = { PATH: process.env['PATH'], ...environment, PORT: port, SHUTDOWN_DELAY: '0' }
  const child = spawn('sh', ['-c', `exec ${words.join(' ')} > /dev/full`], { env })
  onTestFinished(() => void child.kill('SIGKILL'))
  const closed = once(child, 'close')
  await until(async () => (await read(port)) === 401)
  child.kill('SIGTERM')
  expect(await closed).toEqual([0, null])
})

const NO_URL = /DATABASE_URL must be set with NODE_ENV=production, such as file:\/srv\/plants\.db or postgresql:/
test.each([
  ['serve', { HOST: '192.0.2.1' }, /HOST 192\.0\.2\.1 is not an address of this machine/],
  ['migrate', { DATABASE_URL: 'postgresql://h:1,i:2/d' }, /DATABASE_URL is not a URL of one host/],
  ...['serve', 'migrate', 'token list', 'backup copy.db', 'copy --from file:x.db'].map(
    (command) => [command, { NODE_ENV: 'production', DATABASE_URL: '' }, NO_URL] as const,
  ),
] as const)(
  'wrong settings let %s exit with 2, so that it is not restarted for ever: %o',
  async (command, mistake, message) => {
    const result = await runInProcess(command.split(' '), { ...environment, PORT: '0', ...mistake })
    expect(result).toMatchObject({ exitCode: 2, stdout: '', stderr: expect.stringMatching(message) })
  },
)

test('a missing folder is reported in one line, with exit code 1, and changes nothing on disk', async () => {
  const missing = { PORT: '0', DATABASE_URL: `file:${folder}/not/x.db` }
  const stderr = `plant-store: ${folder}/not does not exist: create this folder, mount its disk, or check DATABASE_URL\n`
  expect(await runCommand(['serve'], missing)).toMatchObject({ exitCode: 1, stderr })
  expect(await runInProcess(['migrate'], missing)).toMatchObject({ exitCode: 1, stderr })
  expect(await readdir(folder)).toEqual([])
})

test('a port in use is reported in one line, with exit code 1, and changes nothing on disk', async () => {
  const other = createServer().listen(0, '127.0.0.1')
  await once(other, 'listening')
  const { port } = other.address() as AddressInfo
  const stderr = expect.stringMatching(new RegExp(`^plant-store: PORT ${port} .*\\n$`))
  expect(await runCommand(['serve'], { ...environment, PORT: String(port) })).toMatchObject({ exitCode: 1, stderr })
  const start = (settings: object) => startServer({ databaseUrl: environment.DATABASE_URL, ...settings })
  await expect(start({ port: 0, adminPort: port })).rejects.toThrow(new RegExp(`^ADMIN_PORT ${port} .*$`))
  other.close()
  await expect(start({ port, adminPort: port })).rejects.toThrow(new RegExp(`^PORT ${port} .*$`))
  expect(await readdir(folder)).toEqual([])
})

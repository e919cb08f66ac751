/** The command serve, as an operator sees it: its greeting, what keeps it from starting, and whether it is ready. */
import { execFile } from 'node:child_process'
import cluster from 'node:cluster'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { createServer as createHttpServer } from 'node:http'
import { type AddressInfo, createServer } from 'node:net'
import { networkInterfaces } from 'node:os'
import { promisify } from 'node:util'
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { freePort, responds, startProgram, until } from '../../../test/helpers/programs.ts'
import { commandLine, startServerProcess } from '../../../test/helpers/server/run-command.ts'
import { startTestServer } from '../../../test/helpers/server/start-test-server.ts'
import { temporaryFolder } from '../../../test/helpers/temporary.ts'
import { startServer } from '../../src/index.ts'
import { eventLines } from '../helpers/log-lines.ts'
import { runInProcess } from '../helpers/run-in-process.ts'

const DAY = 86_400_000

let folder: string
let environment: { DATABASE_URL: string }
beforeEach(() => {
  folder = temporaryFolder()
  environment = { DATABASE_URL: `file:${folder}/plant-store.db` }
})

test('the greeting of an empty database has curl lines that work as pasted, with a token for 7 days that is not logged', async () => {
  const server = await startServerProcess(environment)
  const [create = '', list = ''] = server.output().match(/^ {2}curl .*$/gm) ?? []
  const shell = promisify(execFile)
  expect((await shell('sh', ['-c', create])).stdout).toBe('{"name":"Monstera deliciosa","tag":"aroid"}')
  expect((await shell('sh', ['-c', list])).stdout).toBe('[{"name":"Monstera deliciosa","tag":"aroid"}]')
  expect(server.output()).toContain(`"docs":"${server.url}/docs"`)
  expect(server.output()).toMatch(new RegExp(`"database":"sqlite ${folder}/plant-store.db".*"msg":"ready"`))
  expect(await server.end('SIGINT')).toBe(0)
  expect(await readdir(folder)).toEqual(['plant-store.db'])

  expect(server.output()).toMatch(/token of the account "demo".* 7 days/)
  const [token] = JSON.parse((await runInProcess(['token', 'list', '--json'], environment)).stdout)
  expect(Math.round((Date.parse(token.expiresAt) - Date.parse(token.createdAt)) / DAY)).toBe(7)
  const logged = eventLines(server.output(), 'token created')
  expect(logged).toMatchObject([{ tokenId: token.id, account: 'demo', expiresAt: token.expiresAt }])
  expect(JSON.stringify(logged)).not.toContain('pst_')
})

// On other systems, `script` takes other arguments.
const testOnLinux = test.runIf(process.platform === 'linux')
testOnLinux('a terminal shows text for people, and a short line for each request', async () => {
  const port = String(await freePort())
  const serve = commandLine(['serve']).map((part) => `'${part}'`)
  const command = ['script', '--quiet', '--command', serve.join(' '), '/dev/null']
  const env = { ...process.env, ...environment, PORT: port, LOG_LEVEL: 'debug', NO_COLOR: '1', SHUTDOWN_DELAY: '0' }
  await using server = await startProgram(command, /INFO: ready/, { env })
  const url = `http://127.0.0.1:${port}`
  const start = server.output().replaceAll('\r', '')
  expect(start).toMatch(/^\[\d\d:\d\d:\d\d\.\d{3}\] INFO: ready \{"url":"http:.*"\}$/m)
  const [, token = ''] = /^ {2}(pst_\w+)$/m.exec(start) ?? []
  const headers = { authorization: `Bearer ${token}` }
  for (const count of [1, 2]) {
    expect((await fetch(`${url}/plants?limit=0`, { headers })).status).toBe(400)
    await until(() => server.output().split('/plants 400').length > count)
  }
  const lines = server.output().trim().split(/\r?\n/).slice(-2)
  const shown = /^\[.*\] DEBUG: GET \/plants 400 40004 [\d.]+ ms demo [\da-f]{12} [\da-f]{8}…$/
  expect(lines).toEqual([expect.stringMatching(shown), expect.stringMatching(shown)])
  expect(Math.max(...lines.map(({ length }) => length))).toBeLessThanOrEqual(100)
  // By another signal it waits two seconds.
  await server.stop('SIGKILL')
})

test.skipIf(!existsSync('/dev/full'))('an output that cannot be written does not stop the server', async () => {
  const port = String(await freePort())
  const env = { ...environment, PORT: port, SHUTDOWN_DELAY: '0' }
  const isReady = responds(`http://127.0.0.1:${port}/plants`, (status) => status === 401)
  const command = ['sh', '-c', 'exec "$@" >/dev/full', 'sh', ...commandLine(['serve'])]
  const server = await startProgram(command, isReady, { env })
  expect(await server.stop()).toBe(0)
})

test.each<[command: string, mistake: Record<string, string>, message: RegExp]>([
  ['serve', { HOST: '192.0.2.1' }, /HOST 192\.0\.2\.1 is not an address of this machine/],
  ['ready', { ADMIN_PORT: ' ' }, /^plant-store: ADMIN_PORT must be a port, such as 3001/],
])('wrong settings let %s exit with 2, so that it is not restarted for ever: %o', async (...row) => {
  const [command, mistake, message] = row
  const result = await runInProcess([command], { ...environment, PORT: '0', ...mistake })
  expect(result).toMatchObject({ exitCode: 2, stdout: '', stderr: expect.stringMatching(message) })
  expect(await readdir(folder)).toEqual([])
})

test('a worker of a cluster, as PM2 can start one, exits with 2', async () => {
  const isWorker = vi.spyOn(cluster, 'isWorker', 'get').mockReturnValue(true)
  onTestFinished(() => isWorker.mockRestore())
  const stderr = expect.stringMatching(/^plant-store: The server cannot run in a cluster .*\n$/)
  const result = await runInProcess(['serve'], { ...environment, PORT: '0' })
  expect(result).toEqual({ exitCode: 2, stdout: '', stderr })
  expect(await readdir(folder)).toEqual([])
})

test('ready asks the admin port of the settings', async () => {
  const addresses = Object.values(networkInterfaces()).flatMap((all = []) => all.map(({ address }) => address))
  const hosts = ['', '0.0.0.0', ...(addresses.includes('::1') ? ['::1', '0:0::0'] : [])]
  for (const host of hosts) {
    await using server = await startTestServer({ adminPort: 0, ...(host && { adminHost: host }) })
    const variables = { ADMIN_HOST: host, ADMIN_PORT: new URL(String(server.adminUrl)).port }
    expect((await runInProcess(['ready'], variables)).stdout, host).toBe('ready\n')
  }
})

const silent = (port: number) => `no server responds on ADMIN_HOST 127.0.0.1, ADMIN_PORT ${port}: `
test.each<[status: number | undefined, messageOf: (port: number) => string]>([
  [503, () => 'not now'],
  [404, (port) => `ADMIN_PORT ${port} is of another program: it responds 404`],
  [undefined, (port) => `${silent(port)}The operation was aborted due to timeout`],
])('ready says what is wrong where a program responds %s, or no longer listens', async (status, messageOf) => {
  const program = createHttpServer((_request, response) => {
    if (status !== undefined) response.writeHead(status).end('not now\n')
  })
  await once(program.listen(0, '127.0.0.1'), 'listening')
  const { port } = program.address() as AddressInfo
  const timeout = AbortSignal.timeout
  const timeouts = vi.spyOn(AbortSignal, 'timeout')
  if (status === undefined) timeouts.mockImplementation((time) => timeout(time / 40))
  onTestFinished(() => timeouts.mockRestore())
  const ready = () => runInProcess(['ready'], { ADMIN_PORT: String(port) })
  const failure = (message: string) => ({ exitCode: 1, stdout: '', stderr: `plant-store: ${message}\n` })
  expect(await ready()).toEqual(failure(messageOf(port)))
  program.close()
  expect(await ready()).toEqual(failure(`${silent(port)}connect ECONNREFUSED 127.0.0.1:${port}`))
})

test.each(['serve', 'migrate'])('%s names a missing folder in a line, and changes nothing on disk', async (command) => {
  const result = await runInProcess([command], { PORT: '0', DATABASE_URL: `file:${folder}/not/x.db` })
  const fix = 'create this folder, mount its disk, or check DATABASE_URL'
  expect(result).toEqual({ exitCode: 1, stdout: '', stderr: `plant-store: ${folder}/not does not exist: ${fix}\n` })
  expect(await readdir(folder)).toEqual([])
})

test('a port in use is reported in one line, with exit code 1, and changes nothing on disk', async () => {
  const other = createServer().listen(0, '127.0.0.1')
  await once(other, 'listening')
  const { port } = other.address() as AddressInfo
  const stderr = expect.stringMatching(new RegExp(`^plant-store: PORT ${port} .*\\n$`))
  expect(await runInProcess(['serve'], { ...environment, PORT: String(port) })).toMatchObject({ exitCode: 1, stderr })
  const start = (settings: object) => startServer({ databaseUrl: environment.DATABASE_URL, ...settings })
  await expect(start({ port: 0, adminPort: port })).rejects.toThrow(new RegExp(`^ADMIN_PORT ${port} .*$`))
  other.close()
  await expect(start({ port, adminPort: port })).rejects.toThrow(new RegExp(`^PORT ${port} .*$`))
  expect(await readdir(folder)).toEqual([])
})

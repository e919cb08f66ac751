import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { migrateDatabase } from '@plant-store/prisma'
import { expect, onTestFinished, test } from 'vitest'
import { newDatabase } from '../../../test/helpers/database/databases.ts'
import { whyImpossible } from '../../../test/helpers/database/small-disk.ts'
import { connect } from '../../../test/helpers/database/sqlite.ts'
import { freePort } from '../../../test/helpers/free-port.ts'
import { commandLine, spawnCommand, startWithToken } from '../../../test/helpers/server/run-command.ts'
import { startTestServer } from '../../../test/helpers/server/start-test-server.ts'
import { temporaryDatabase, temporaryFolder } from '../../../test/helpers/temporary-folder.ts'
import { until } from '../../../test/helpers/until.ts'
import { openSocket, readAll, readResponses } from '../helpers/wire/connection.ts'
import { KEEP_ALIVE, post, withToken } from '../helpers/wire/requests.ts'

const folder = temporaryFolder()

test('a server under load that shuts down is not ready, and stores every request until its delay has passed', async () => {
  const databaseUrl = await newDatabase()
  const server = await startTestServer({ databaseUrl, adminPort: 0, shutdownDelay: 3_000, shutdownTimeout: 30_000 })
  const readyz = () => fetch(`${server.adminUrl}/readyz`)
  let created = 0
  let id = 0
  // A client that receives "Connection: close" sends no more requests, like a load balancer that has read /readyz.
  const work = async () => {
    for (let open = true; open; ) {
      const response = await server.post(`{"id":${++id},"name":"plant ${id}"}`)
      expect(response.status).toBe(200)
      await response.text()
      created++
      open = response.headers.get('connection') !== 'close'
    }
  }
  const workers = Promise.all(Array.from({ length: 32 }, work))
  await until(() => created > 100)
  expect((await readyz()).status).toBe(200)

  const closed = server.close()
  const notReady = await readyz()
  expect([notReady.status, await notReady.text()]).toEqual([503, 'The server is shutting down.\n'])
  expect((await fetch(`${server.adminUrl}/livez`)).status).toBe(200)
  await Promise.all([closed, workers])
  await expect(readyz()).rejects.toThrow()
  await using next = await startTestServer({ databaseUrl })
  expect(await (await next.call('/plants')).json()).toHaveLength(created)
})

test('a request in flight at shutdown gets its response, and new connections are rejected', async () => {
  await using server = await startTestServer()
  const wire = withToken(post('{"id":57001,"name":"Ficus"}', { ...KEEP_ALIVE, Expect: '100-continue' }), server.token)
  const head = wire.indexOf('\r\n\r\n') + 4
  const socket = await openSocket(server.url)
  socket.write(wire.slice(0, head))
  const [interim] = await once(socket, 'data')
  const [closing, rest] = [server.close(), readAll(socket)]
  socket.write(wire.slice(head))
  const responses = readResponses(String(interim) + (await rest))
  await closing
  expect(responses.map(({ status }) => status)).toEqual([100, 200])
  await expect(fetch(server.url)).rejects.toThrow()
})

test('a second signal ends the process immediately', async () => {
  const { server } = await startWithToken(folder, 'twice', { SHUTDOWN_DELAY: '1m', SHUTDOWN_TIMEOUT: '1m' })
  const ended = server.end()
  await until(async () => server.output().includes('"msg":"closing"'))
  await server.end('SIGINT')
  expect(await ended).toBe(130)
})

test('an uncaught exception is logged, requests in flight get their responses, and the exit code is 1', async () => {
  const { server, token } = await startWithToken(folder, 'uncaught', {
    NODE_OPTIONS: `--import data:text/javascript,process.once('SIGUSR2',()=>{throw%20new%20Error('on%20purpose')})`,
    SHUTDOWN_DELAY: '500ms',
  })
  const ended = server.end('SIGUSR2')
  await sleep(200)
  expect((await fetch(`${server.url}/plants`, { headers: { authorization: `Bearer ${token}` } })).status).toBe(200)
  expect(await ended).toBe(1)
  expect(server.output()).toMatch(/"level":"fatal".*on purpose.*uncaught exception/)
})

const isolated = ['unshare', '--pid', '--fork', '--mount-proc', '--kill-child']
const isolationError = whyImpossible(() => execFileSync('unshare', [...isolated.slice(1), 'true'], { stdio: 'pipe' }))
if (isolationError) console.log(`The first process of a container is not tested: ${isolationError}`)

/** Creates a database that another process has locked, so that a startup waits. */
async function lockedDatabase(): Promise<{ url: string }> {
  const database = temporaryDatabase()
  await migrateDatabase(database.url)
  connect(database.file).exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE')
  return database
}

test('SIGTERM during startup exits with 0 and without an error, also as the first process', async () => {
  const [program = '', ...parameters] = [...(isolationError ? [] : isolated), ...commandLine(['serve'])]
  const { PATH = '', HOME = '' } = process.env
  const port = await freePort()
  const settings = { DATABASE_URL: (await lockedDatabase()).url, PORT: '0', ADMIN_PORT: String(port) }
  const server = spawn(program, parameters, { env: { PATH, HOME, ...settings }, stdio: ['ignore', 'ignore', 'pipe'] })
  onTestFinished(() => void server.kill('SIGKILL'))
  const readiness = () => fetch(`http://127.0.0.1:${port}/readyz`).catch(() => undefined)
  await until(async () => (await readiness())?.status === 503)
  const errors = server.stderr.toArray()
  const { pid } = server
  process.kill(Number(isolationError ? pid : readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')), 'SIGTERM')
  expect([await once(server, 'close'), await errors]).toEqual([[0, null], []])
})

test('a signal ends a backup and leaves no file', async () => {
  const { url } = await lockedDatabase()
  const folder = temporaryFolder()
  const backup = spawnCommand(['backup', path.join(folder, 'copy.db')], { DATABASE_URL: url })
  await until(() => readdirSync(folder).some((name) => name.endsWith('.incomplete')))
  backup.kill('SIGTERM')
  expect(await once(backup, 'close')).toEqual([143, null])
  expect(readdirSync(folder)).toEqual([])
})

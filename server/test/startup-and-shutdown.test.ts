import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { connect, newDatabase } from '../../test/helpers/database/databases.ts'
import { freePort, startProgram, until } from '../../test/helpers/programs.ts'
import { callPlants } from '../../test/helpers/server/call-plants.ts'
import { commandLine, startServerProcess, startWithToken } from '../../test/helpers/server/run-command.ts'
import { startTestServer } from '../../test/helpers/server/start-test-server.ts'
import { temporaryDatabase, temporaryFolder } from '../../test/helpers/temporary.ts'
import { startServer } from '../src/index.ts'
import { openSocket, readAll, readResponses } from './helpers/connection.ts'
import { createMemoryLog } from './helpers/log-lines.ts'
import { expectMetric } from './helpers/read-metric.ts'
import { createPlant, get, KEEP_ALIVE, NO_TOKEN, post, withToken } from './helpers/requests.ts'

const folder = temporaryFolder()
const WRITERS = 8

test('a server under load that shuts down is not ready, and stores every request until its delay has passed', async () => {
  const databaseUrl = await newDatabase()
  const server = await startTestServer({ databaseUrl, adminPort: 0, shutdownDelay: 1_000, shutdownTimeout: 30_000 })
  const readyz = () => fetch(`${server.adminUrl}/readyz`)
  const statuses: (number | undefined)[] = []
  let nextId = 0
  /** Creates one plant after the other until its connection is refused. */
  async function write(): Promise<void> {
    const { status } = await callPlants(server, { body: `{"id":${nextId++},"name":"Ficus"}` })
    statuses.push(status)
    if (status !== undefined) await write()
  }
  const written = Promise.all(Array.from({ length: WRITERS }, write))
  await until(() => statuses.length > 100)
  expect((await readyz()).status).toBe(200)

  const closed = server.close()
  const notReady = await readyz()
  expect([notReady.status, await notReady.text()]).toEqual([503, 'The server is shutting down.\n'])
  expect((await fetch(`${server.adminUrl}/livez`)).status).toBe(200)
  await closed
  await written
  await expect(readyz()).rejects.toThrow()
  const stored = statuses.filter((status) => status === 200)
  expect(statuses.filter((status) => status === undefined)).toHaveLength(WRITERS)
  expect(statuses).toHaveLength(stored.length + WRITERS)
  await using next = await startTestServer({ databaseUrl })
  expect(await (await next.call('/plants')).json()).toHaveLength(stored.length)
})

test('connections that are never read, handed over or silent end with the shutdown, within its timeout', async () => {
  const settings = { SHUTDOWN_TIMEOUT: '300ms', ADMIN_PORT: '0' }
  const server = await startServerProcess({ DATABASE_URL: await newDatabase(), ...settings })
  const docs = get('/docs/swagger-ui-bundle.js', { ...KEEP_ALIVE, ...NO_TOKEN })
  const connect = 'CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n'
  for (const url of [server.url, String(server.adminUrl)]) {
    for (const wire of [connect, 'garbage\r\n\r\n', get('/livez', { Upgrade: 'h2c', Connection: 'Upgrade' }), '']) {
      // So many that what follows does not fit into what the operating system buffers, or nearly.
      for (const count of [0, 1, 2, 3, 4, 5]) (await openSocket(url)).pause().write(docs.repeat(count) + wire)
    }
  }
  await expectMetric(server, 'plant_store_open_connections').toBeGreaterThan(0)
  expect(await server.end()).toBe(0)
})

test('SIGUSR1 opens no inspector, it, SIGUSR2 and a file size limit end nothing, and a second signal ends all immediately', async () => {
  const settings = { SHUTDOWN_DELAY: '1m', SHUTDOWN_TIMEOUT: '1m' }
  const server = await startServerProcess({ DATABASE_URL: await newDatabase(), ...settings })
  for (const signal of ['SIGUSR1', 'SIGUSR2', 'SIGXFSZ'] as const) server.signal(signal)
  expect((await fetch(`${server.url}/plants`)).status).toBe(401)
  const ended = server.end()
  await until(async () => server.output().includes('"msg":"closing"'))
  await server.end('SIGINT')
  expect(await ended).toBe(130)
  expect(server.output()).not.toContain('Debugger')
})

/** Settings with which a process runs a statement on SIGUSR2. */
const onSignal = (statement: string) => {
  const code = `process.once('SIGUSR2',()=>{${statement}})`
  return { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(code)}` }
}
const THROW = `throw new Error('on purpose')`

test('an uncaught exception is logged, requests in flight and one more of a connection get responses, and the exit code is 1', async () => {
  const { server, token } = await startWithToken(folder, 'uncaught', onSignal(THROW))
  expect(server.output(), 'only an empty database is greeted').not.toContain('curl')
  const socket = await openSocket(server.url)
  const wire = withToken(post('{"id":57001,"name":"Ficus"}', { ...KEEP_ALIVE, Expect: '100-continue' }), token)
  const [head, body = ''] = wire.split(/(?<=\r\n\r\n)/)
  socket.write(String(head))
  await once(socket, 'data')
  const ended = server.end('SIGUSR2')
  await until(() => server.output().includes('uncaught exception'))
  const rest = readAll(socket)
  // Longer than what is open may keep a process running that has ended.
  await sleep(300)
  // The second ends the connection, so that the third gets no response.
  socket.write(body + createPlant(token, 57002) + createPlant(token, 57003))
  expect(readResponses(await rest).map(({ status }) => status)).toEqual([200, 200])
  expect(await ended).toBe(1)
  expect(server.output()).toMatch(/"level":"fatal".*on purpose.*uncaught exception/)
})

test.each([
  ['SIGTERM', 'SIGTERM', '', 0],
  ['an uncaught exception', 'SIGUSR2', THROW, 1],
] as const)('%s ends a startup that waits, and is logged', async (_what, signal, statement, code) => {
  const port = String(await freePort())
  const DATABASE_URL = await newDatabase()
  // The startup waits for another process.
  connect(fileURLToPath(DATABASE_URL)).exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE')
  const environment = { DATABASE_URL, PORT: '0', ADMIN_PORT: port, ...onSignal(statement) }
  const isWaiting = async () => (await read(`http://127.0.0.1:${port}/readyz`))?.[0] === 503
  await using server = await startProgram(commandLine(['serve']), isWaiting, { env: environment })
  expect(await server.stop(signal)).toBe(code)
  expect(/^Error: on purpose/m.test(server.output())).toBe(code === 1)
  expect(server.output()).toMatch(code === 0 ? /"msg":"closing"/ : /"level":"fatal".*on purpose.*uncaught exception/)
})

/** Reads the status and the text of a response; undefined if nothing listens. */
async function read(url: string): Promise<[number, string] | undefined> {
  const response = await fetch(url).catch(() => undefined)
  return response && [response.status, await response.text()]
}

test('while a migration runs, /livez responds 200, /readyz 503 with the reason, and the public port is closed', async () => {
  const { url: databaseUrl, file } = temporaryDatabase()
  // The migration waits for another process.
  writeFileSync(file, '')
  const other = connect(file)
  other.exec('BEGIN IMMEDIATE')
  const [port, adminPort] = [await freePort(), await freePort()]
  const { logger, lines } = await createMemoryLog()
  const starting = startServer({ port, adminPort, databaseUrl, shutdownDelay: 0 }, logger)
  const admin = `http://127.0.0.1:${adminPort}`
  await until(async () => /migrating/.test(String(await read(`${admin}/readyz`))))

  expect(await read(`${admin}/readyz`)).toEqual([503, expect.stringContaining('migrating')])
  expect(await read(`${admin}/livez`)).toEqual([200, 'live\n'])
  expect(await read(`${admin}/metrics`)).toEqual([503, expect.stringContaining('starting')])
  expect(await read(`http://127.0.0.1:${port}/plants`)).toBeUndefined()
  // A line before it says that the database is waited for, if that takes long.
  expect(lines().at(-1)).toMatchObject({ msg: 'creating the tables' })

  other.exec('COMMIT')
  const server = await starting
  const migrations = expect.arrayContaining([expect.stringMatching(/_initial$/)])
  expect(lines()).toContainEqual(expect.objectContaining({ migrations, msg: 'database migrated' }))
  expect(await read(`${admin}/readyz`)).toEqual([200, 'ready\n'])
  await server.close()
})

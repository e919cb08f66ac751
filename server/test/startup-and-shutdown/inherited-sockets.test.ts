import { once } from 'node:events'
import { openSync } from 'node:fs'
import { Agent, get } from 'node:http'
import { expect, test } from 'vitest'
import { collect } from '../../../test/helpers/collect.ts'
import { openSocket } from '../../../test/helpers/server/passed-socket.ts'
import { spawnCommand, startServerProcess } from '../../../test/helpers/server/run-command.ts'
import { temporaryDatabase } from '../../../test/helpers/temporary-folder.ts'
import { takeInheritedSockets } from '../../src/http/listen/ports.ts'

/** Sends one request and returns its status or its error. */
function request(url: string, agent: Agent, host = new URL(url).host): Promise<number | string> {
  return new Promise((resolve) => {
    get(url, { agent, headers: { host } }, (response) => {
      response.resume().on('close', () => resolve(response.statusCode ?? 0))
    }).on('error', (error) => resolve(String(error)))
  })
}

test('clients do not notice a restart while another process keeps the socket open', async () => {
  const { url: DATABASE_URL } = temporaryDatabase()
  const socket = openSocket()
  const environment = { DATABASE_URL, SHUTDOWN_DELAY: '100ms' }
  const start = () => startServerProcess(environment, [socket.descriptor])
  let server = await start()
  expect(server.url).toBe(socket.url)

  const outcomes: (number | string)[] = []
  let ended = false
  // A new connection for each request, as from many clients.
  const work = async () => {
    while (!ended) outcomes.push(await request(`${socket.url}/nowhere`, new Agent()))
  }
  const workers = Promise.all(Array.from({ length: 8 }, work))
  const more = () => expect.poll(() => outcomes.length).toBeGreaterThan(outcomes.length + 50)
  await more()
  expect(await server.end()).toBe(0)
  server = await start()
  await more()
  ended = true
  await workers
  expect(new Set(outcomes)).toEqual(new Set([404]))
  expect(await server.end()).toBe(0)
})

test('the socket named admin is the private port, and a connection that stays open gets a last response', async () => {
  const { url: DATABASE_URL } = temporaryDatabase()
  const [admin, http] = [openSocket(), openSocket()]
  const times = { SHUTDOWN_DELAY: '20s', SHUTDOWN_TIMEOUT: '20s' }
  const environment = { DATABASE_URL, ...times, LISTEN_FDNAMES: 'admin:http', ADMIN_HOST: 'Plants.example.com' }
  const server = await startServerProcess(environment, [admin.descriptor, http.descriptor])
  expect([server.url, server.adminUrl]).toEqual([http.url, admin.url])
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  expect(await request(`${admin.url}/readyz`, new Agent())).toBe(200)
  expect(await request(`${admin.url}/readyz`, new Agent(), 'plants.example.com:3001')).toBe(200)
  expect(await request(`${admin.url}/readyz`, new Agent(), 'example.com')).toBe(403)
  expect(await request(`${http.url}/nowhere`, agent)).toBe(404)
  expect(server.output()).toContain('listening on sockets of systemd')
  const ended = server.end()
  await expect.poll(() => server.output()).toContain('"msg":"closing"')
  expect(await request(`${http.url}/nowhere`, agent)).toBe(404)
  // The last connection is closed: shutdown has nothing to wait for.
  expect(await ended).toBe(0)
})

const take = (variables: Record<string, string>) => takeInheritedSockets({ LISTEN_PID: '812', ...variables }, 812)

test.each([
  [{ LISTEN_FDS: '3' }, 'LISTEN_FDS must be 1 or 2'],
  [{ LISTEN_FDS: '1', LISTEN_PID: 'x' }, 'LISTEN_PID must be the id of a process'],
  [{ LISTEN_FDS: '2' }, 'LISTEN_FDNAMES must name one of two sockets admin'],
  [{ LISTEN_FDS: '2', LISTEN_FDNAMES: 'admin:admin' }, 'LISTEN_FDNAMES must name one of two sockets admin'],
  [{ LISTEN_FDS: '1', LISTEN_FDNAMES: 'http:admin' }, 'LISTEN_FDNAMES must have as many names as LISTEN_FDS'],
])('invalid variables %o are rejected', (variables, message) => {
  expect(() => take(variables)).toThrow(message)
})

test('without sockets for this process there are none', () => {
  const others = { LISTEN_FDS: '1', LISTEN_PID: '1' }
  for (const variables of [{}, { LISTEN_FDS: '' }, { LISTEN_FDS: '0' }, others]) expect(take(variables)).toBeUndefined()
})

test('a descriptor that is not a socket stops the startup with one message', async () => {
  const environment = { DATABASE_URL: temporaryDatabase().url, LISTEN_FDS: '1' }
  const server = spawnCommand(['serve'], environment, [openSync('/dev/null', 'r')])
  const errors = collect(server.stderr)
  expect(await once(server, 'close')).toEqual([1, null])
  expect(errors()).toMatch(/^plant-store: LISTEN_FDS is 1, but descriptor 3 is not a socket\. .*\n$/)
})

import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test, vi } from 'vitest'
import { type ServerProcess, startWithToken } from '../../../test/helpers/server/run-command.ts'
import { startTestServer } from '../../../test/helpers/server/start-test-server.ts'
import { temporaryFolder } from '../../../test/helpers/temporary-folder.ts'
import { until } from '../../../test/helpers/until.ts'
import { openSocket, readAll } from '../helpers/wire/connection.ts'
import { KEEP_ALIVE, post, withToken } from '../helpers/wire/requests.ts'
import { readResponses } from '../helpers/wire/responses.ts'

/** The time a process may take to start on a busy machine, in milliseconds. */
const PATIENCE = 60_000
vi.setConfig({ testTimeout: 2 * PATIENCE, hookTimeout: PATIENCE })

const folder = temporaryFolder()

describe('SIGTERM', () => {
  test('makes the server not ready; it responds with "Connection: close", and exits with 0', async () => {
    const { server, token } = await startWithToken(folder, 'drain', { SHUTDOWN_DELAY: '1s', ADMIN_PORT: '0' })
    expect((await fetch(`${server.adminUrl}/readyz`)).status).toBe(200)
    expect((await list(server, token)).headers.get('connection')).toBe('keep-alive')

    const ended = server.end()
    await until(async () => (await fetch(`${server.adminUrl}/readyz`)).status === 503)
    expect(await (await fetch(`${server.adminUrl}/readyz`)).text()).toMatch(/^The server is /)
    expect((await fetch(`${server.adminUrl}/livez`)).status).toBe(200)
    const late = await list(server, token)
    expect(late.status).toBe(200)
    expect(late.headers.get('connection')).toBe('close')
    expect(await ended).toBe(0)
  })

  test('under load, every request on an open connection gets a 200 and is stored', async () => {
    const { server, token } = await startWithToken(folder, 'load', {
      SHUTDOWN_DELAY: '5s',
      SHUTDOWN_TIMEOUT: '30s',
    })
    let created = 0
    let id = 0
    // A client that receives it sends no more requests, like a load balancer that has read /readyz.
    const work = async () => {
      for (let open = true; open; ) {
        const response = await create(server, token, { id: ++id, name: `plant ${id}` })
        expect(response.status).toBe(200)
        await response.json()
        created++
        open = response.headers.get('connection') !== 'close'
      }
    }
    const workers = Promise.all(Array.from({ length: 32 }, work))
    await until(() => created > 100, PATIENCE)
    expect(await server.end()).toBe(0)
    await workers

    const { server: next } = await startWithToken(folder, 'load')
    expect(await (await list(next, token)).json()).toHaveLength(created)
    await next.end()
  })

  test('twice ends the process immediately', async () => {
    const { server } = await startWithToken(folder, 'twice', { SHUTDOWN_DELAY: '1m', SHUTDOWN_TIMEOUT: '1m' })
    const ended = server.end()
    await until(async () => server.output().includes('"msg":"closing"'))
    await server.end('SIGINT')
    expect(await ended).toBe(1)
  })

  test('aborts a request that does not end after SHUTDOWN_TIMEOUT', async () => {
    const { server, token } = await startWithToken(folder, 'cut', { SHUTDOWN_TIMEOUT: '500ms' })
    const endless = new ReadableStream({
      async pull(controller) {
        await sleep(20)
        controller.enqueue(Buffer.from(' '))
      },
    })
    const request = create(server, token, endless)
    const broken = expect(request).rejects.toThrow()
    await sleep(300)
    expect(await server.end()).toBe(0)
    await broken
  })
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

test('a restart under load fails no request of a client that retries once', async () => {
  const first = await startWithToken(folder, 'restart', { SHUTDOWN_DELAY: '200ms' })
  const port = new URL(first.server.url).port
  let id = 0
  let ended = false
  let restarted = false
  const failed: unknown[] = []
  const work = async () => {
    while (!ended) {
      const plant = { id: ++id, name: `plant ${id}` }
      const attempt = async () => {
        const response = await create(first.server, first.token, plant)
        if (response.status !== 200) throw new Error(`status ${response.status}`)
        return response.json()
      }
      await attempt().catch(async () => {
        await until(() => restarted, PATIENCE)
        await attempt().catch((error) => failed.push(error))
      })
    }
  }
  const workers = Array.from({ length: 16 }, work)
  await sleep(300)
  expect(await first.server.end()).toBe(0)
  const second = await startWithToken(folder, 'restart', { PORT: port })
  restarted = true
  await sleep(500)
  ended = true
  await Promise.all(workers)
  expect(failed).toEqual([])
  const plants = (await (await list(second.server, first.token)).json()) as { name: string }[]
  expect(new Set(plants.map(({ name }) => name)).size).toBe(id)
  expect(plants).toHaveLength(id)
  await second.server.end()
})

test('an uncaught exception is logged, requests in flight get their responses, and the exit code is 1', async () => {
  const { server, token } = await startWithToken(folder, 'uncaught', {
    NODE_OPTIONS: `--import data:text/javascript,process.once('SIGUSR2',()=>{throw%20new%20Error('on%20purpose')})`,
    SHUTDOWN_DELAY: '500ms',
  })
  const ended = server.end('SIGUSR2')
  await sleep(200)
  expect((await list(server, token)).status).toBe(200)
  expect(await ended).toBe(1)
  expect(server.output()).toMatch(/"level":"fatal".*on purpose.*uncaught exception/)
})

function list({ url }: ServerProcess, token: string): Promise<Response> {
  return fetch(`${url}/plants`, { headers: { authorization: `Bearer ${token}` } })
}

function create({ url }: ServerProcess, token: string, plant: object): Promise<Response> {
  const body = plant instanceof ReadableStream ? plant : JSON.stringify(plant)
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  return fetch(`${url}/plants`, { method: 'POST', headers, body, duplex: 'half' } as RequestInit)
}

import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test, vi } from 'vitest'
import { type ServerProcess, startWithToken } from '../../../test/helpers/server/run-command.ts'
import { temporaryFolder } from '../../../test/helpers/temporary-folder.ts'
import { until } from '../../../test/helpers/until.ts'

// Where many tests run at the same time, a process takes seconds to start.
const PATIENCE = 60_000
vi.setConfig({ testTimeout: 2 * PATIENCE, hookTimeout: PATIENCE })

const folder = temporaryFolder()

describe('told to end (SIGTERM)', () => {
  test('it is not ready any more, says "Connection: close", serves on, and ends with 0', async () => {
    const { server, token } = await startWithToken(folder, 'drain', { SHUTDOWN_DELAY: '1s', ADMIN_PORT: '0' })
    expect((await fetch(`${server.adminUrl}/readyz`)).status).toBe(200)
    expect((await list(server, token)).headers.get('connection')).toBe('keep-alive')

    const ended = server.end()
    await until(async () => (await fetch(`${server.adminUrl}/readyz`)).status === 503)
    expect(await (await fetch(`${server.adminUrl}/readyz`)).text()).toBe('The server is shutting down.\n')
    expect((await fetch(`${server.adminUrl}/livez`)).status).toBe(200)
    const late = await list(server, token)
    expect(late.status).toBe(200)
    expect(late.headers.get('connection')).toBe('close')
    expect(await ended).toBe(0)
  })

  test('under load, every request on an open connection is answered, and what was answered is kept', async () => {
    const { server, token } = await startWithToken(folder, 'load', {
      SHUTDOWN_DELAY: '5s',
      SHUTDOWN_TIMEOUT: '30s',
      MAX_EVENT_LOOP_DELAY: '0',
    })
    let created = 0
    let id = 0
    // A caller that is told so sends no more here, as a load balancer does that has seen /readyz.
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

  test('a second signal ends it at once', async () => {
    const { server } = await startWithToken(folder, 'twice', { SHUTDOWN_DELAY: '1m', SHUTDOWN_TIMEOUT: '1m' })
    const ended = server.end()
    await until(async () => server.output().includes('"msg":"closing"'))
    await server.end('SIGINT')
    expect(await ended).toBe(1)
  })

  test('a request that does not end is cut off after SHUTDOWN_TIMEOUT', async () => {
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

test('a restart under load fails no request of a client that retries once', async () => {
  const limits = { MAX_EVENT_LOOP_DELAY: '0' }
  const first = await startWithToken(folder, 'restart', { SHUTDOWN_DELAY: '200ms', ...limits })
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
  const second = await startWithToken(folder, 'restart', { PORT: port, ...limits })
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

test('an error that nobody catches is logged, requests under way end, and the exit code is 1', async () => {
  const { server, token } = await startWithToken(folder, 'uncaught', {
    NODE_OPTIONS: `--import data:text/javascript,process.once('SIGUSR2',()=>{throw%20new%20Error('on%20purpose')})`,
    SHUTDOWN_DELAY: '500ms',
  })
  const ended = server.end('SIGUSR2')
  await sleep(200)
  expect((await list(server, token)).status).toBe(200)
  expect(await ended).toBe(1)
  expect(server.output()).toMatch(/"level":60.*on purpose.*an error that nobody has caught/)
})

function list({ url }: ServerProcess, token: string): Promise<Response> {
  return fetch(`${url}/plants`, { headers: { authorization: `Bearer ${token}` } })
}

function create({ url }: ServerProcess, token: string, plant: object): Promise<Response> {
  const body = plant instanceof ReadableStream ? plant : JSON.stringify(plant)
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  return fetch(`${url}/plants`, { method: 'POST', headers, body, duplex: 'half' } as RequestInit)
}

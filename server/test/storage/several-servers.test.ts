/** Several servers on one PostgreSQL, while servers are killed and the database is restarted. */
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type PostgresqlServer, startPostgresql } from '../../../test/helpers/database/postgresql.ts'
import { freePort } from '../../../test/helpers/free-port.ts'
import { runCommand, type ServerProcess, startServerProcess } from '../../../test/helpers/server/run-command.ts'

const SERVERS = 3
const WRITERS = 6
const DURATION = 60_000
const TIME_BETWEEN_KILLS = 2_000
const RESTARTS_OF_POSTGRESQL = 8
/** The pause of each client between two requests, in milliseconds. */
const PAUSE = 10

let postgresql: PostgresqlServer
beforeAll(async () => {
  postgresql = await startPostgresql()
})
afterAll(() => postgresql.remove())

/** A server on a port of its own that is started again after it was killed. */
async function startRestartable(environment: Record<string, string>) {
  const port = await freePort()
  const start = () => startServerProcess({ ...environment, PORT: String(port) })
  let server: ServerProcess = await start()
  return {
    url: server.url,
    async killAndRestart() {
      await server.end('SIGKILL')
      server = await start()
    },
    end: () => server.end(),
  }
}

test('no list is stale, and no plant is skipped, doubled or reordered', async () => {
  const environment = { DATABASE_URL: postgresql.url('plants'), NODE_ENV: 'production' }
  const servers = await Promise.all(Array.from({ length: SERVERS }, () => startRestartable(environment)))
  const { stdout } = await runCommand(['token', 'create', '--account', 'alice'], environment)
  const headers = { authorization: `Bearer ${stdout.trim()}`, 'content-type': 'application/json' }
  const end = performance.now() + DURATION
  const isOver = () => performance.now() > end
  let requests = 0
  let failures = 0

  /** Sends a request to any server, again to any other until one responds with 200. */
  async function send(query: string, init: RequestInit = {}): Promise<Response> {
    for (;;) {
      const server = servers[Math.floor(Math.random() * servers.length)]
      requests++
      const response = await fetch(`${server?.url}/plants${query}`, { ...init, headers }).catch(() => undefined)
      if (response?.status === 200) return response
      failures++
      // What fails may succeed later: 503, or a broken connection.
      expect(response?.status ?? 503).toBe(503)
      if (response) expect(response.headers.get('retry-after')).toMatch(/^[1-9]$/)
      await response?.text()
      await sleep(20)
    }
  }

  const acknowledged = new Set<string>()
  const lists: string[][] = []
  let nextId = 0

  async function write(): Promise<void> {
    while (!isOver()) {
      const id = nextId++
      await (await send('', { method: 'POST', body: JSON.stringify({ id, name: `plant ${id}` }) })).text()
      acknowledged.add(`plant ${id}`)
      await sleep(PAUSE)
    }
  }

  async function list(): Promise<string[]> {
    for (;;) {
      const response = await send('')
      // A server that is killed breaks its responses.
      const plants = (await response.json().catch(() => undefined)) as { name: string }[] | undefined
      if (plants) return plants.map(({ name }) => name)
    }
  }

  async function read(): Promise<void> {
    while (!isOver()) {
      const before = [...acknowledged]
      const names = await list()
      const listed = new Set(names)
      const stale = before.filter((name) => !listed.has(name))
      expect({ stale, doubled: names.length - listed.size }).toEqual({ stale: [], doubled: 0 })
      lists.push(names)
      await sleep(PAUSE)
    }
  }

  /** Reads page after page, each from another server, and waits at the end for more. */
  async function readPages(): Promise<string[]> {
    const names: string[] = []
    let cursor = ''
    for (let last = false; ; ) {
      const over = isOver()
      const response = await send(`?limit=5${cursor}`)
      const page = (await response.json().catch(() => undefined)) as { name: string }[] | undefined
      if (!page) continue
      const next = /[?&](cursor=[^&>]*)>/.exec(response.headers.get('link') ?? '')?.[1]
      if (next !== undefined) {
        names.push(...page.map(({ name }) => name))
        cursor = `&${next}`
      } else if (last) return [...names, ...page.map(({ name }) => name)]
      else {
        // All writers have ended before the last page is read.
        last = over && writersEnded
        await sleep(PAUSE)
      }
    }
  }

  async function killServers(): Promise<void> {
    for (let round = 0; !isOver(); round++) {
      await sleep(TIME_BETWEEN_KILLS)
      await servers[round % servers.length]?.killAndRestart()
    }
  }

  async function restartPostgresql(): Promise<void> {
    for (let round = 0; round < RESTARTS_OF_POSTGRESQL; round++) {
      await sleep(DURATION / (RESTARTS_OF_POSTGRESQL + 1))
      await postgresql.stop(round % 4 === 3 ? 'SIGINT' : 'SIGKILL')
      await postgresql.start()
    }
  }

  let writersEnded = false
  const writing = Promise.all(Array.from({ length: WRITERS }, write)).then(() => {
    writersEnded = true
  })
  const paging = Promise.all([readPages(), readPages()])
  await Promise.all([writing, read(), read(), killServers(), restartPostgresql()])

  const final = await list()
  expect(new Set(final)).toEqual(acknowledged)
  expect(final).toHaveLength(acknowledged.size)
  for (const names of lists) expect(names).toEqual(final.slice(0, names.length))
  for (const names of await paging) expect(names).toEqual(final)
  console.log(`${requests} requests, ${failures} retried; ${final.length} plants; ${lists.length} lists compared`)
  for (const server of servers) expect(await server.end()).toBe(0)
}, 180_000)

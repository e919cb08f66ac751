/** Requests through a pooler in transaction mode: each transaction may be on another connection. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { type PostgresqlServer, startPostgresql } from '../../../test/helpers/database/postgresql.ts'
import { freePort } from '../../../test/helpers/free-port.ts'
import { isLong, requireInCi } from '../../../test/helpers/long-tests.ts'
import { startStrictPooler } from '../../../test/helpers/network/strict-pooler.ts'
import { startTestServer } from '../../../test/helpers/server/start-test-server.ts'
import { temporaryFolder } from '../../../test/helpers/temporary-folder.ts'

const PGBOUNCER = '/usr/sbin/pgbouncer'
/** PgBouncer does not run as root: the id of a user without rights. */
const UNPRIVILEGED = 65_534
const hasPgbouncer = isLong && existsSync(PGBOUNCER)
requireInCi('PgBouncer', hasPgbouncer)
if (isLong && !hasPgbouncer) console.log('PgBouncer is not tested: it is not installed (apt-get install pgbouncer)')
vi.setConfig({ testTimeout: 120_000 })

let postgresql: PostgresqlServer
beforeAll(async () => {
  postgresql = await startPostgresql()
})
afterAll(() => postgresql?.remove())

/** Creates, lists, pages and revokes through this database. */
async function expectService(databaseUrl: string): Promise<void> {
  await using server = await startTestServer({ databaseUrl, adminPort: 0 })
  const { token, id } = await server.createToken({ account: `account ${databaseUrl}` })
  const create = (number: number) => server.post(JSON.stringify({ id: number, name: `plant ${number}` }), { token })
  for (let round = 0; round < 5; round++) {
    const responses = await Promise.all(Array.from({ length: 40 }, (_, index) => create(round * 40 + index)))
    expect(responses.map(({ status }) => status)).toEqual(Array(40).fill(200))
  }
  expect((await create(7)).status).toBe(200)
  const list = (await (await server.call('/plants', { token })).json()) as object[]
  expect(list).toHaveLength(200)

  const pages: object[] = []
  for (let next: string | undefined = '/plants?limit=30'; next !== undefined; ) {
    const response = await server.call(next, { token })
    pages.push(...((await response.json()) as object[]))
    const link = /<([^>]+)>/.exec(response.headers.get('link') ?? '')?.[1]
    next = link && `/plants${link}`
  }
  expect(pages).toEqual(list)
  expect(await (await fetch(`${server.adminUrl}/readyz`)).text()).toBe('ready\n')
  expect(await server.revoke(id)).toMatchObject({ revokedAt: expect.any(Date) })
}

test('with pgbouncer=true nothing is kept in a session', async () => {
  await using pooler = await startStrictPooler(postgresql.port)
  await expectService(`postgresql://postgres@127.0.0.1:${pooler.port}/plants?pgbouncer=true`)
})

test.each([false, true])(
  'without it a startup is rejected (startup parameters ignored: %s)',
  async (ignoreParameters) => {
    await using pooler = await startStrictPooler(postgresql.port, { ignoreParameters })
    const begin = performance.now()
    await expect(
      startTestServer({ databaseUrl: `postgresql://postgres@127.0.0.1:${pooler.port}/plants` }),
    ).rejects.toThrow(/is behind a pooler in transaction mode: add pgbouncer=true to DATABASE_URL$/)
    expect(performance.now() - begin).toBeLessThan(8_000)
  },
)

test.runIf(hasPgbouncer)('PgBouncer in transaction mode, with two connections', async () => {
  const url = await startPgbouncer()
  await expectService(`${url}/plants?pgbouncer=true`)
  await expect(startTestServer({ databaseUrl: `${url}/plants` })).rejects.toThrow(/add pgbouncer=true to DATABASE_URL$/)
  await expect(startTestServer({ databaseUrl: `${url}/unknown?pgbouncer=true` })).rejects.toThrow(/does not exist/)
})

/** Starts PgBouncer and returns the beginning of its URL. */
async function startPgbouncer(): Promise<string> {
  const folder = temporaryFolder()
  const port = await freePort()
  const settings = [
    '[databases]',
    `plants = host=127.0.0.1 port=${postgresql.port} user=postgres`,
    '[pgbouncer]',
    'listen_addr = 127.0.0.1',
    `listen_port = ${port}`,
    'unix_socket_dir =',
    'auth_type = any',
    'pool_mode = transaction',
    'default_pool_size = 2',
  ]
  writeFileSync(path.join(folder, 'pgbouncer.ini'), settings.join('\n'))
  chmodSync(folder, 0o755)
  const user = process.getuid?.() === 0 ? { uid: UNPRIVILEGED, gid: UNPRIVILEGED } : {}
  const child = spawn(PGBOUNCER, [path.join(folder, 'pgbouncer.ini')], { ...user, stdio: ['ignore', 'ignore', 'pipe'] })
  const closed = once(child, 'close')
  onTestFinished(async () => {
    child.kill('SIGKILL')
    await closed
  })
  let log = ''
  await new Promise<void>((resolve, reject) => {
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      log += text
      if (log.includes('process up')) resolve()
    })
    child.once('error', reject)
    void closed.then(() => reject(new Error(`PgBouncer ended:\n${log}`)))
  })
  return `postgresql://postgres@127.0.0.1:${port}`
}

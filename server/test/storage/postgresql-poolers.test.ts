/** Requests through a pooler in transaction mode: each transaction may be on another connection. */
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { openConnection, runSql } from '../../../test/helpers/database/databases.ts'
import { type PostgresqlServer, startPostgresql } from '../../../test/helpers/database/postgresql.ts'
import { hasPgbouncer, startPgbouncer } from '../../../test/helpers/network/pgbouncer.ts'
import { startTestServer } from '../../../test/helpers/server/start-test-server.ts'

vi.setConfig({ testTimeout: 120_000 })

let postgresql: PostgresqlServer
beforeAll(async () => {
  postgresql = await startPostgresql()
  await runSql(postgresql.url('postgres'), 'CREATE DATABASE plants')
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

test.runIf(hasPgbouncer)('with pgbouncer=true nothing is kept in a session', async () => {
  const url = await startPgbouncer(postgresql.port)
  await expectService(`${url}/plants?pgbouncer=true`)
  await expect(startTestServer({ databaseUrl: `${url}/unknown?pgbouncer=true` })).rejects.toThrow(/does not exist/)
})

test.runIf(hasPgbouncer)('/readyz names what has locked a table, also through a pooler', async () => {
  const databaseUrl = `${await startPgbouncer(postgresql.port)}/plants?pgbouncer=true`
  await using server = await startTestServer({ databaseUrl, adminPort: 0 })
  const readiness = async () => (await fetch(`${server.adminUrl}/readyz`)).text()
  const other = await openConnection(postgresql.url('plants'))
  await other.run('BEGIN; LOCK TABLE "Token"')
  await expect.poll(readiness).toMatch(/^A transaction that has been open for \d+ s blocks requests: end it/)
  await other.run('COMMIT')
  await other.close()
  await expect.poll(readiness).toBe('ready\n')
})

test.runIf(hasPgbouncer)('without it a startup is rejected promptly', async () => {
  const url = await startPgbouncer(postgresql.port)
  const begin = performance.now()
  await expect(startTestServer({ databaseUrl: `${url}/plants` })).rejects.toThrow(
    /is behind a pooler in transaction mode: add pgbouncer=true to DATABASE_URL$/,
  )
  expect(performance.now() - begin).toBeLessThan(8_000)
})

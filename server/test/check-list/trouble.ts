/** What the server makes of callers that go away, of storage that fails, and of input that is meant to cost. */
import { once } from 'node:events'
import { connect } from 'node:net'
import { fileURLToPath } from 'node:url'
import { expect } from 'vitest'
import { runSql } from '../../../test/helpers/database/sqlite.ts'
import { startServerProcess } from '../../../test/helpers/server/run-command.ts'
import type { TestServer } from '../../../test/helpers/server/start-test-server.ts'
import { accepts, type Check, get, post, type Row, refuses, request, send } from './row.ts'

export const trouble: readonly Row[] = [
  {
    number: 56,
    name: 'callers that go away',
    checks: [{ what: 'leave no half plant, and no trouble in the log', run: goAway }],
  },
  { number: 58, name: 'storage that is locked, full or read-only', coveredBy: 'storage/storage-failures.test.ts' },
  { number: 59, name: 'a failure in the middle of a list', coveredBy: 'plants/creating.test.ts' },
  {
    number: 60,
    name: 'input that is meant to cost',
    checks: [
      accepts('keys like integers', post(withFields(60001, (index) => `"${index * 65_536}":1`))),
      accepts('keys that are alike', post(withFields(60002, (index) => `"${'Aa'.repeat(5)}${index}":1`))),
      accepts('spaces', post(`${' '.repeat(500_000)}{"id":60003,"name":"Ficus"}${' '.repeat(500_000)}`)),
      accepts('a long name of escapes', post(`{"id":60004,"name":"${'\\u0061'.repeat(100_000)}"}`)),
      refuses('a string without end', post(`{"id":1,"name":"${'\\"'.repeat(500_000)}`), 40001),
      refuses('a number of 1 MB', post(`{"id":${'1'.repeat(1_000_000)},"name":"Ficus"}`), 40002),
      refuses('a media type', post('{}', { 'Content-Type': `application/json${' '.repeat(10_000)}x` }), 41500),
      refuses('credentials', get('/plants', { Authorization: `Bearer ${' '.repeat(10_000)}!` }), 40102),
    ],
  },
  {
    number: 61,
    name: 'answers stay small',
    checks: [
      refuses('40 000 bad items', post(`[${Array(40_000).fill('{}').join()}]`), 40002),
      refuses('40 000 bad values', post(`{"id":[${Array(40_000).fill('{}').join()}],"name":{},"tag":[]}`), 40002),
      refuses('a long key twice', post(`{"${'a'.repeat(10_000)}":1,"${'a'.repeat(10_000)}":1}`), 40001),
      refuses('a long path', get(`/${'a'.repeat(10_000)}`), 40400),
      refuses('a long method', request({ method: 'A'.repeat(10_000) }), 40000),
      refuses('a long cursor', get(`/plants?cursor=${'a'.repeat(10_000)}`), 40004),
      refuses('many limits', get(`/plants?${'limit=x&'.repeat(900)}`), 40004),
    ],
  },
  {
    number: 62,
    name: 'a failure of the server’s own',
    checks: [{ what: 'tells nothing but the number of the failure and of the request', run: failInside }],
  },
]

function withFields(id: number, field: (index: number) => string): string {
  return `{"id":${id},"name":"Ficus",${Array.from({ length: 10_000 }, (_, index) => field(index)).join()}}`
}

/** A process of its own over the same database, so that its log is what an operator reads. */
async function goAway(server: TestServer): Promise<void> {
  const { token } = await server.createToken({ account: 'goes away' })
  const other = await startServerProcess({ DATABASE_URL: server.databaseUrl, LOG_LEVEL: 'debug' })
  try {
    const elsewhere = { ...server, url: other.url }
    const body = `{"id":1,"name":"${'a'.repeat(1_000_000)}"}`
    await abort(post(body, { 'X-Request-Id': 'upload' }).slice(0, 500_000), 'upload')
    const [none] = await send(elsewhere, get(), token)
    expect(none?.body).toBe('[]')

    for (const id of [1, 2, 3, 4, 5]) await send(elsewhere, post(body.replace('1', `${id}`)), token)
    await abort(get('/plants', { 'X-Request-Id': 'download' }), 'download')
    // What comes after it in the log was written after it.
    await send(elsewhere, get('/plants?limit=1&access_token=<token>', { 'X-Request-Id': 'after' }), token)
    await expect.poll(other.output, { timeout: 10_000 }).toContain('"after"')

    const levels = [...other.output().matchAll(/"level":(\d+)/g)].map(([, level]) => Number(level))
    expect(levels.filter((level) => level > 30)).toEqual([])
    expect(other.output(), 'row 41: a token is not logged').not.toContain(token)
  } finally {
    await other.end()
  }

  async function abort(wire: string, requestId: string): Promise<void> {
    const { hostname, port } = new URL(other.url)
    const socket = connect(Number(port), hostname)
    socket.write(wire.replace('<token>', token))
    // An upload is broken off when it has been let in, a download when it has begun.
    if (requestId === 'upload') await new Promise((resolve) => setTimeout(resolve, 100))
    else await once(socket, 'data')
    socket.destroy()
    await expect.poll(other.output, { timeout: 10_000 }).toContain(`"${requestId}"`)
  }
}

async function failInside(server: TestServer): Promise<void> {
  const file = fileURLToPath(server.databaseUrl)
  runSql(
    file,
    `CREATE TRIGGER "poison" BEFORE INSERT ON "Plant" WHEN NEW."name" = 'poison' BEGIN SELECT RAISE(FAIL, 'secret'); END`,
  )
  try {
    const poison: Check = refuses('', post('{"id":62001,"name":"poison"}', { 'X-Request-Id': 'poisoned' }), 50000, {
      'X-Request-Id': 'poisoned',
    })
    await poison.run(server)
    const [answer] = await send(server, post('{"id":62001,"name":"poison"}'))
    expect(answer?.body).not.toMatch(/secret|sql|trigger|insert|prisma|\/|\.ts/i)
  } finally {
    runSql(file, 'DROP TRIGGER "poison"')
  }
  await accepts('', post('{"id":62001,"name":"poison"}')).run(server)
}

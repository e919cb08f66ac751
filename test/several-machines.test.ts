/** Runs what docs/production/several-machines says, as far as one machine can. */
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { contract } from '@plant-store/contract'
import { migrateDatabase } from '@plant-store/prisma'
import { describe, expect, onTestFinished, test } from 'vitest'
import { query, runSql, startOwnPostgresql } from './helpers/database/databases.ts'
import { demandPasswords } from './helpers/database/postgresql.ts'
import { startFaultyNetwork } from './helpers/network/faulty-network.ts'
import { hasPgbouncer, startPgbouncer } from './helpers/network/pgbouncer.ts'
import { codeBlock, isInstalled, readGuide } from './helpers/production/guide.ts'
import { collect, freePort, responds, startProgram, until } from './helpers/programs.ts'
import { runCommand, startServerProcess } from './helpers/server/run-command.ts'
import { startTestServer } from './helpers/server/start-test-server.ts'
import { createPlant, plantOf, startWriting } from './helpers/server/start-writing.ts'
import { temporaryFolder } from './helpers/temporary.ts'

const GUIDE = 'several-machines/nginx.conf'
const guide = readGuide('several-machines/README.md')
const rights = readGuide('several-machines/rights.sql')

/** A migrated database that another program uses too, as its owner and as the servers, in a schema of its own. */
const postgresql = await startOwnPostgresql()
const as = (role: string) => postgresql.url('plants').replace('postgres@', `${role}@`)
const [owner, databaseUrl] = [as('plant_store_owner'), as('plant_store')]
const schema = [...codeBlock(guide, 'Create the database', 1).matchAll(/--command='(.*)'/g)].map(([, sql]) => sql)
await runSql(postgresql.url('postgres'), 'CREATE ROLE plant_store_owner LOGIN; CREATE ROLE plant_store LOGIN')
await runSql(postgresql.url('postgres'), `CREATE DATABASE plants TEMPLATE template0 ENCODING 'UTF8'`)
await runSql(postgresql.url('plants'), `CREATE TABLE customers (); ${schema.join('; ')}`)
await migrateDatabase(owner)
// As the guide says, after each migration.
for (let migration = 0; migration < 2; migration++) await runSql(owner, rights)

test('the role of the servers may not change or delete plants unless rights.sql says so, or switch the triggers off', async () => {
  const edits = ['UPDATE "Plant" SET "name" = \'other\'', 'DELETE FROM "Plant"']
  const others = [
    'TRUNCATE "Plant"',
    'ALTER TABLE "Plant" DISABLE TRIGGER ALL',
    'UPDATE "ListVersion" SET "version" = \'known\'',
    'DELETE FROM "Token"',
    'UPDATE "Secret" SET "value" = \'known\'',
    'DELETE FROM "_prisma_migrations"',
    'CREATE TABLE "Other" ()',
  ]
  const expectDenied = (sql: string) =>
    expect(runSql(databaseUrl, sql), sql).rejects.toThrow(/permission denied|must be owner/)
  const isAllowed = (sql: string) => new RegExp(`GRANT [^;]*${sql.slice(0, 6)}[^;]* ON "Plant"`).test(rights)
  for (const sql of [...edits.filter((each) => !isAllowed(each)), ...others]) await expectDenied(sql)

  await runSql(owner, 'GRANT UPDATE, DELETE ON "Plant" TO plant_store')
  const version = async () =>
    (await query<{ version: string }>(owner, `SELECT "version" FROM "ListVersion" WHERE "account" = 'bob'`))[0]?.version
  await runSql(databaseUrl, `INSERT INTO "Plant" ("account", "id", "name") VALUES ('bob', '1', 'Ficus')`)
  for (const sql of edits) {
    const before = await version()
    // Another table of this name must not get the versions.
    await runSql(databaseUrl, `CREATE TEMPORARY TABLE "ListVersion" AS SELECT * FROM "ListVersion"; ${sql}`)
    expect(await version()).not.toBe(before)
  }
})

test.runIf(hasPgbouncer)('through PgBouncer, requests succeed soon after PostgreSQL has crashed', async () => {
  const own = await startOwnPostgresql({ prepare: demandPasswords })
  await own.administrate(`CREATE ROLE plant_store LOGIN PASSWORD 'secret'`)
  await runSql(await own.create('plants'), rights)
  const configuration = codeBlock(guide, 'Connections', 0, 'ini')
  const [, select = ''] = /; Its line: (.*)/.exec(configuration) ?? []
  const [line] = await query<{ format: string }>(own.url('postgres'), select)
  const url = await startPgbouncer(own.port, configuration, line?.format)
  const databaseUrl = `${url.replace('postgres@', 'plant_store:secret@')}/plants?pgbouncer=true`
  await using server = await startTestServer({ databaseUrl })
  let id = 0
  const create = async () => (await server.post(JSON.stringify({ id: ++id, name: 'Ficus' }))).status
  expect(await create()).toBe(200)
  await own.stop('SIGKILL')
  expect(await create()).toBe(503)
  await own.start()
  // By default, 15 s later.
  await expect.poll(create, { timeout: 10_000 }).toBe(200)
})

/** Starts nginx with the configuration of a guide, for servers on these ports of this machine, and settings of its own. */
async function startNginx([first, second = first]: readonly number[], file = GUIDE, settings = '') {
  const folder = temporaryFolder()
  const port = await freePort()
  const configuration = readGuide(file)
    .replace(/listen \d+;/, `listen 127.0.0.1:${port}; ${settings}`)
    .replaceAll(/\/(?:tmp|dev|var\/log\/nginx)\//g, `${folder}/`)
    .replace(/(?:10\.0\.0\.11|172\.30\.251\.11|127\.0\.0\.1):3000/, `127.0.0.1:${first}`)
    .replace(/(?:10\.0\.0\.12|172\.30\.251\.12):3000/, `127.0.0.1:${second}`)
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${folder}/${name};`,
  )
  const isWhole = configuration.includes('events {}')
  const around = `pid ${folder}/nginx.pid; events {} http { ${temporary.join(' ')}`
  writeFileSync(`${folder}/nginx.conf`, isWhole ? configuration : `${around}\n${configuration}\n}`)
  const options = ['-c', `${folder}/nginx.conf`, '-e', `${folder}/error.log`, '-g', 'daemon off;']
  const url = `http://127.0.0.1:${port}`
  const program = await startProgram(['nginx', ...options], responds(url))
  return { url, ...program }
}

const hasNginx = isInstalled('nginx')

test.runIf(hasNginx)(
  'behind nginx, only what was sent to a server that is updated, killed or lost fails, with a 503, and can be repeated',
  async () => {
    await using network = await startFaultyNetwork(postgresql.port)
    const environment = {
      DATABASE_URL: network.url('plants').replace('postgres@', 'plant_store@'),
      NODE_ENV: 'production',
      TRUST_PROXY: '127.0.0.1',
      KEEP_ALIVE_TIMEOUT: '75s',
      SHUTDOWN_DELAY: '200ms',
      ADMIN_PORT: '0',
    }
    const { stdout } = await runCommand(['token', 'create', '--account', 'me'], environment)
    const token = stdout.trim()
    // A server that is not ready accepts no connection.
    const ports = [await freePort(), await freePort()]
    const start = (index: number) => startServerProcess({ ...environment, PORT: String(ports[index]) })
    const servers = await Promise.all([start(0), start(1)])
    const restart = async (index: number, signal: NodeJS.Signals) => {
      await servers[index]?.end(signal)
      // A startup that takes longer than `fail_timeout`, so that nginx tries the server meanwhile.
      network.delay = 300
      const server = await start(index)
      servers[index] = server
      network.delay = 0
      // Until nginx uses it again, as an operator waits between two restarts.
      const metrics = async () => (await fetch(`${server.adminUrl}/metrics`)).text()
      await until(async () => /^plant_store_batch_size_count [1-9]/m.test(await metrics()))
    }
    // Ends before the servers, and with it the writers.
    await using nginx = await startNginx(ports)
    const { url } = nginx
    const writing = startWriting({ url, token, writers: 8 })
    const more = async () => {
      const before = writing.responses.length
      await until(() => writing.responses.length > before + 50)
    }
    await more()
    for (const [index, signal] of (['SIGTERM', 'SIGKILL'] as const).entries()) {
      await restart(index, signal)
      await more()
    }
    // A machine is lost.
    await servers[0]?.end('SIGKILL')
    await more()
    await writing.stop()
    // What was sent to a server that ended then is not sent to the other one: the client knows whether it may repeat it.
    const failed = writing.responses.filter(({ status }) => status !== 200)
    expect(failed.filter(({ status, retryAfter }) => status !== 503 || retryAfter !== '1')).toEqual([])
    expect(failed.length).toBeLessThanOrEqual(3 * 8)
    for (const { id } of failed) expect(await createPlant(url, token, id)).toMatchObject({ status: 200 })

    const headers = { authorization: `Bearer ${token}` }
    const listed = (await (await fetch(`${url}/plants`, { headers })).json()) as { name: string }[]
    const created = writing.responses.map(({ id }) => plantOf(id).name)
    expect(listed.map(({ name }) => name).sort()).toEqual(created.sort())
  },
)

/** What nginx itself rejects, with the number of the `Error` body. */
const REJECTED: [what: string, start: string, header: string, error: number][] = [
  ['no request', '\x16\x03\x01', '', 40000],
  ['a malformed header', 'GET /plants HTTP/1.1', 'a b: c', 40000],
  ['another version', 'GET /plants HTTP/2.0', '', 40000],
  ['a coding', 'POST /plants HTTP/1.1', 'Transfer-Encoding: gzip', 40000],
  ['a path of its own', 'GET /plant-store-error HTTP/1.1', '', 40400],
  ['TRACE', 'TRACE /a.html HTTP/1.1', '', 40500],
  ['a long body', 'POST /plants HTTP/1.1', 'Content-Length: 3000000', 41300],
  ['a long target', `GET /${'a'.repeat(100_000)} HTTP/1.1`, '', 43100],
  ['a long header', 'GET /plants HTTP/1.1', `Cookie: ${'a'.repeat(100_000)}`, 43100],
  ['a header that the server rejects', 'GET /plants HTTP/1.1', `Cookie: ${'a'.repeat(20_000)}`, 43100],
]

/** What nginx sends where no server responds. */
const UNAVAILABLE = { status: 503, error: 50300, head: expect.stringContaining('\r\nRetry-After: 1\r\n') }
/** The headers of every `Error` body, also of those of the server. */
const ERROR_HEADERS = `content-type: application/json; charset=utf-8
cache-control: no-store
x-content-type-options: nosniff
content-security-policy: default-src 'none'; frame-ancestors 'none'`.split('\n')

describe.runIf(hasNginx).each(['nginx.conf', GUIDE, 'container/nginx.conf'])('behind nginx with %s,', (file) => {
  /** Starts nginx before a network that leads to a server. */
  async function startBehind(settings?: string) {
    const server = await startTestServer()
    const network = await startFaultyNetwork(Number(new URL(server.url).port))
    const nginx = await startNginx([Number(new URL(network.url('')).port)], file, settings)
    const { url } = nginx
    onTestFinished(async () => {
      await nginx[Symbol.asyncDispose]()
      await network[Symbol.asyncDispose]()
    })
    /** Sends a request without a body as text. Returns the response, if it is an `Error` only with the headers of one. */
    async function send(start: string, header = '') {
      const socket = connect(Number(new URL(url).port), '127.0.0.1').on('error', () => {})
      const output = collect(socket)
      const lines = ['Host: plants.example.com', `Authorization: Bearer ${server.token}`, 'Connection: close', header]
      socket.write(`${[start, ...lines.filter(Boolean)].join('\r\n')}\r\n\r\n`)
      // nginx waits for the rest of what it rejects.
      socket.on('data', () => output().endsWith('}') && socket.destroy())
      await new Promise((resolve) => socket.once('close', resolve))
      const [head = '', body = ''] = output().split('\r\n\r\n')
      const status = Number(head.split(' ')[1])
      const id = expect.stringMatching(/^x-request-id: [-0-9a-f]{32,36}$/)
      const headers = expect.arrayContaining([...ERROR_HEADERS, id])
      if (status >= 400) expect(head.toLowerCase().split('\r\n')).toEqual(headers)
      return { status, error: body ? JSON.parse(body).error : undefined, head }
    }
    return { server, network, url, send }
  }

  test('what it rejects is an Error body, and what the server accepts is passed on', async () => {
    const { server, network, send } = await startBehind()
    for (const length of [9_000, 15_000]) {
      const { status } = await send('GET /plants HTTP/1.1', `Cookie: ${'a'.repeat(length)}`)
      expect(status).toBe(200)
    }
    for (const [what, start, header, error] of REJECTED) {
      expect(await send(start, header), what).toMatchObject({ status: Math.floor(error / 100), error })
    }
    const methods = ['HEAD', 'OPTIONS', ...Object.values(contract).map(({ method }) => method)]
    const { head } = await send('TRACE /plants HTTP/1.1')
    expect(head).toContain(`\r\nAllow: ${[...new Set(methods)].sort().join(', ')}\r\n`)
    const lost = network.cutOnce('after', 'GET /a.html')
    expect(await send('GET /a.html HTTP/1.1')).toMatchObject(UNAVAILABLE)
    await lost
    await server.close()
    expect(await send('GET /a.html HTTP/1.1')).toMatchObject(UNAVAILABLE)
    expect(await send('HEAD /plants HTTP/1.1')).toMatchObject({ ...UNAVAILABLE, error: undefined })
  })

  test('what takes too long is an Error body', async () => {
    const { network, send } = await startBehind('proxy_read_timeout 1s;')
    network.stall()
    expect(await send('GET /plants HTTP/1.1')).toMatchObject(UNAVAILABLE)
  })

  test('what is compressed are the same bytes, with the weak form of the tag', async () => {
    const { server, url } = await startBehind()
    for (let id = 0; id < 100; id++) await server.post(`{"id":${id},"name":"Monstera deliciosa"}`)
    const headers = { authorization: `Bearer ${server.token}` }
    const [direct, compressed] = [await server.call('/plants'), await fetch(`${url}/plants`, { headers })]
    expect([compressed.status, compressed.headers.get('content-encoding')]).toEqual([200, 'gzip'])
    expect(compressed.headers.get('vary')).toBe('Accept-Encoding, Authorization')
    expect(await compressed.text()).toBe(await direct.text())
    const etag = compressed.headers.get('etag') as string
    expect(etag).toBe(`W/${direct.headers.get('etag')}`)
    const unchanged = await fetch(`${url}/plants`, { headers: { ...headers, 'if-none-match': etag } })
    expect([unchanged.status, unchanged.headers.get('etag')]).toEqual([304, direct.headers.get('etag')])
  })

  test('each piece of a list arrives as it is sent, one that breaks off is broken, and the server gets the address', async () => {
    let breakOff = () => {}
    let address: unknown
    const upstream = createServer(({ headers }, response) => {
      response.writeHead(200, { 'content-type': 'application/json' }).write('[{"name":"Ficus"}')
      breakOff = () => response.destroy()
      address = headers['x-forwarded-for']
    })
    onTestFinished(() => void upstream.close())
    await once(upstream.listen(0, '127.0.0.1'), 'listening')
    await using nginx = await startNginx([(upstream.address() as AddressInfo).port], file)
    for (const encoding of ['gzip', 'identity']) {
      // nginx would give up after a minute.
      const signal = AbortSignal.timeout(45_000)
      const headers = { 'accept-encoding': encoding, 'x-forwarded-for': '10.0.0.99' }
      const list = await fetch(`${nginx.url}/plants`, { headers, signal })
      expect(list.headers.get('content-encoding') ?? 'identity').toBe(encoding)
      const pieces = list.body?.pipeThrough(new TextDecoderStream()).getReader()
      expect(await pieces?.read()).toEqual({ done: false, value: '[{"name":"Ficus"}' })
      expect(address).toBe('127.0.0.1')
      breakOff()
      await expect(pieces?.read()).rejects.toThrow('terminated')
    }
  })
})

/** Runs what docs/production/several-machines says, as far as one machine can. */
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { contract } from '@plant-store/contract'
import { describe, expect, onTestFinished, test } from 'vitest'
import { asServer, query, runSql, sharedPostgresql } from './helpers/database/databases.ts'
import { startFaultyNetwork } from './helpers/network/faulty-network.ts'
import { isInstalled, readGuide } from './helpers/production/guide.ts'
import { collect, freePort, responds, startProgram } from './helpers/programs.ts'
import { startTestServer } from './helpers/server/start-test-server.ts'
import { temporaryFolder } from './helpers/temporary.ts'

const rights = readGuide('several-machines/rights.sql')

test('the role of the servers may not change or delete plants unless rights.sql says so, or switch the triggers off', async () => {
  const owner = await (await sharedPostgresql()).create('rights')
  const databaseUrl = await asServer(owner)
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

/** Starts nginx with the configuration of a guide, for servers on these ports of this machine, and settings of its own. */
async function startNginx(file: string, first: number, second = first, settings = '') {
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

const configurations = ['nginx.conf', 'several-machines/nginx.conf', 'container/nginx.conf']
describe.runIf(hasNginx).each(configurations)('behind nginx with %s,', (file) => {
  /** Starts nginx before a network that leads to a server, by default also in the place of the second one. */
  async function startBehind({ second, settings }: { second?: number; settings?: string } = {}) {
    const server = await startTestServer()
    const network = await startFaultyNetwork(Number(new URL(server.url).port))
    const nginx = await startNginx(file, Number(new URL(network.url('')).port), second, settings)
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
    const { network, send } = await startBehind({ settings: 'proxy_read_timeout 1s;' })
    network.stall()
    expect(await send('GET /plants HTTP/1.1')).toMatchObject(UNAVAILABLE)
  })

  test('what is compressed are the same bytes, with the weak form of the tag, also while the other server is lost', async () => {
    // Nothing accepts its connections.
    const { server, url } = await startBehind({ second: 1 })
    const headers = { authorization: `Bearer ${server.token}`, 'content-type': 'application/json' }
    for (let id = 0; id < 100; id++) {
      const body = `{"id":${id},"name":"Monstera deliciosa"}`
      expect((await fetch(`${url}/plants`, { method: 'POST', headers, body })).status).toBe(200)
    }
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
    await using nginx = await startNginx(file, (upstream.address() as AddressInfo).port)
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

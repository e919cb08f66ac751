/** When the keys of the token issuer are fetched and how long they are cached, also from key servers that fail. */
import { once } from 'node:events'
import { PassThrough, Readable } from 'node:stream'
import { createGzip } from 'node:zlib'
import { SignJWT } from 'jose'
import pino from 'pino'
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import type { TestServer } from '../../../test/helpers/server/start-test-server.ts'
import { until } from '../../../test/helpers/until.ts'
import type { Settings } from '../../src/index.ts'
import { logRejections } from '../../src/telemetry/log.ts'
import {
  advanceClock,
  COOL_DOWN,
  createKey,
  type KeyServer,
  resultOf,
  signToken,
  startTokenIssuer,
  validClaims,
} from '../helpers/accounts/token-issuer.ts'

const INVALID = { status: 401, error: 40102 }
const UNAVAILABLE = { status: 503, error: 50300 }
const DAY = 24 * 3_600_000

const key = await createKey('first')
let lines: Record<string, unknown>[]
beforeEach(() => {
  lines = []
})
afterEach(() => void vi.restoreAllMocks())

/** Returns why tokens were rejected, as the log says. */
const loggedReasons = () => lines.filter(({ event }) => event === 'token rejected').map(({ reason }) => reason)

/** Logs what `serve` logs by default, without the lines of its startup. */
const logger = pino({ level: 'info' }, { write: (line) => void lines.push(JSON.parse(line)) })
const start = (settings: Partial<Settings> = {}) => startTokenIssuer(key, settings, { logger })

/** Signs a token that names an unknown key. */
const signUnknown = (kid = 'unknown') => signToken({ ...key, jwk: { ...key.jwk, kid } })
const signMany = (count: number) => Promise.all(Array.from({ length: count }, (_, index) => signUnknown(`${index}`)))
const callWith = async (server: TestServer, token: string) => resultOf(await server.call('/plants', { token }))

async function expectAccepted(server: TestServer, claims: Record<string, unknown> = {}): Promise<void> {
  expect((await server.call('/plants', { token: await signToken(key, claims) })).status).toBe(200)
}

/** Stops the clock that measures durations, so that a slow machine fetches the keys no more often. */
function stopClock(ahead = 0): void {
  const standing = performance.now() + ahead
  vi.spyOn(performance, 'now').mockReturnValue(standing)
}

type Respond = NonNullable<KeyServer['respond']>
const DOWN: Respond = (request) => request.socket.destroy()
const invalidResponses: Record<string, Respond> = {
  'a closed connection': DOWN,
  500: (_request, response) => response.writeHead(500).end('{"keys":[]}'),
  'JSON that is not a key set': (_request, response) => response.end('{"keys":[null]}'),
  'a redirect': (request, response) => response.writeHead(302, { location: `${request.url}?again` }).end(),
  'half of a key set': (_request, response) =>
    response.writeHead(200, { 'content-length': 100 }).write('{"keys"', () => response.destroy()),
}

test('before the first fetch of the keys succeeds, whatever the key server responds, tokens of the issuer get a 503 with Retry-After; own tokens work', async () => {
  const { keyServer, server } = await start()
  for (const [title, respond] of Object.entries(invalidResponses)) {
    keyServer.respond = respond
    const response = await server.call('/plants', { token: await signToken(key) })
    expect(response.headers.get('retry-after'), title).toBe(String(COOL_DOWN / 1_000))
    expect(response.headers.has('www-authenticate')).toBe(false)
    expect(await resultOf(response), title).toEqual(UNAVAILABLE)
    expect((await server.call('/plants')).status).toBe(200)
  }
  keyServer.respond = undefined
  await expectAccepted(server)
})

test('before the first fetch of the keys succeeds, 100 requests have two log lines a second, which say why', async () => {
  const { keyServer, server } = await start()
  onTestFinished(logRejections(logger))
  stopClock()
  keyServer.respond = DOWN
  const tokens = await signMany(100)
  const results = await Promise.all(tokens.map((token) => callWith(server, token)))
  expect(results).toEqual(tokens.map(() => UNAVAILABLE))
  const reason = expect.stringMatching(/JWT_JWKS_URL: fetch failed: other side closed/)
  expect(lines).toMatchObject([{ reason: 'issuer-keys' }, { level: 40, err: { message: reason } }])
  const log = JSON.stringify(lines)
  for (const part of tokens.flatMap((token) => token.split('.'))) expect(log).not.toContain(part)
})

// What the sockets buffer is sent too. Spaces are compressed to a thousandth.
test.each([
  ['plain', {}, 2 ** 25],
  ['compressed', { 'content-encoding': 'gzip' }, 2 ** 30],
])('of %s keys without end, only the start is read', async (_title, headers, limit) => {
  const { keyServer, server } = await start()
  onTestFinished(logRejections(logger))
  const spaces = Buffer.alloc(2 ** 16, ' ')
  let sent = 0
  let closed: Promise<unknown> | undefined
  keyServer.respond = (_request, response) => {
    closed = once(response.writeHead(200, headers), 'close')
    const read = function (this: Readable) {
      sent += spaces.length
      this.push(spaces)
    }
    const compress = 'content-encoding' in headers ? createGzip({ level: 1 }) : new PassThrough()
    new Readable({ read }).pipe(compress).pipe(response)
  }
  expect(await callWith(server, await signToken(key))).toEqual(UNAVAILABLE)
  await closed
  expect(sent).toBeLessThan(limit)
  expect(JSON.stringify(lines)).toContain('more than 262144 bytes')
})

test('before the first fetch of the keys succeeds, such requests are failed authentications of their address, but not own tokens', async () => {
  const { keyServer, server } = await start({ authFailureLimit: { requests: 2, seconds: 3_600 } })
  keyServer.respond = DOWN
  const token = await signToken(key)
  for (let request = 0; request < 2; request++) expect(await callWith(server, token)).toEqual(UNAVAILABLE)
  expect(await callWith(server, token)).toEqual({ status: 429, error: 42900 })
  expect((await server.call('/plants', { token: null })).status).toBe(429)
  expect((await server.call('/plants')).status).toBe(200)

  keyServer.respond = undefined
  expect((await server.call('/plants', { token })).status).toBe(200)
  expect(await callWith(server, await signUnknown())).toEqual({ status: 429, error: 42900 })
})

test('once the keys were fetched, a token that names an unknown key gets a 401 without a fetch for ten seconds; while the issuer is unavailable it gets a 503, and known keys are used for a day', async () => {
  const { keyServer, server } = await start()
  await expectAccepted(server)
  const unknown = await signMany(20)
  const results = () => Promise.all(unknown.map((token) => callWith(server, token)))
  expect(await results()).toEqual(unknown.map(() => INVALID))
  expect(keyServer.fetches).toBe(1)

  keyServer.respond = DOWN
  advanceClock(DAY - 60_000)
  expect(await results()).toEqual(unknown.map(() => UNAVAILABLE))
  await expectAccepted(server, { jti: '2' })
  advanceClock(DAY + 1)
  expect(await callWith(server, await signToken(key, { jti: '3' }))).toEqual(UNAVAILABLE)
})

test('once the keys were fetched, a key server that never responds delays no other request', async () => {
  const { keyServer, server } = await start()
  await expectAccepted(server)
  keyServer.respond = () => {}
  advanceClock(COOL_DOWN)
  let ended = false
  const waiting = callWith(server, await signToken(await createKey('second'))).finally(() => {
    ended = true
  })
  await until(() => keyServer.fetches === 2)
  expect((await server.call('/plants')).status).toBe(200)
  await expectAccepted(server, { jti: '2' })
  expect(ended).toBe(false)
  expect(await waiting).toEqual(UNAVAILABLE)
})

test('once the keys were fetched, new keys are fetched, and tokens of removed keys get a 401, without a new one after a day', async () => {
  const { keyServer, server } = await start()
  await expectAccepted(server)
  const second = await createKey('second')
  keyServer.keys = [second.jwk]
  advanceClock(COOL_DOWN)
  expect((await server.call('/plants', { token: await signToken(second) })).status).toBe(200)
  expect((await server.call('/plants', { token: await signToken(key) })).status).toBe(401)
  expect(keyServer.fetches).toBe(2)

  keyServer.keys = []
  advanceClock(DAY + 2 * COOL_DOWN)
  expect(await callWith(server, await signToken(second, { jti: '2' }))).toEqual(INVALID)
  expect(keyServer.fetches).toBe(3)
})

test.each([undefined, 'first'])(
  'of several keys with the id %s, some malformed, a token may be signed with any, and with no other',
  async (kid) => {
    const { keyServer, server } = await start()
    stopClock()
    const algorithms = ['ES256', 'ES256', 'RS256', 'Ed25519']
    const [other, ...published] = await Promise.all(
      ['ES256', ...algorithms].map((algorithm) => createKey(kid, algorithm)),
    )
    // A point that is not on its curve, parts that are not text, and none.
    const malformed = [{ x: 'AA', y: 'AA' }, { x: 1, y: {} } as object, {}].map((parts) => ({
      ...{ kty: 'EC', crv: 'P-256', ...parts, ...(kid && { kid }) },
    }))
    // Without an algorithm, an elliptic curve matches both of its kind.
    keyServer.keys = [...malformed, ...published.map(({ jwk: { alg, ...jwk } }) => jwk)]
    for (const [index, each] of published.entries()) {
      expect((await server.call('/plants', { token: await signToken(each) })).status, `${index}`).toBe(200)
    }
    expect(loggedReasons()).toEqual([])
    const expired = await signToken(published[1] ?? key, { exp: 1 })
    expect(await callWith(server, expired)).toEqual({ status: 401, error: 40103 })
    expect(await callWith(server, await signToken(other ?? key))).toEqual(INVALID)
    expect(loggedReasons()).toEqual(['signature verification failed'])
    expect(await callWith(server, await signUnknown())).toEqual(INVALID)
    expect(keyServer.fetches).toBe(1)
  },
)

test.each([undefined, 'first'])(
  'a key that replaces another with the id %s is fetched for its first token',
  async (kid) => {
    const [old, next] = await Promise.all([createKey(kid), createKey(kid)])
    const { keyServer, server } = await startTokenIssuer(old, {}, { logger })
    const statusOf = async (signer: typeof old, jti: string) =>
      (await server.call('/plants', { token: await signToken(signer, { jti }) })).status
    expect(await statusOf(old, '1')).toBe(200)
    keyServer.keys = [next.jwk]
    advanceClock(COOL_DOWN)
    expect(await statusOf(next, '2')).toBe(200)
    expect(await statusOf(old, '3')).toBe(401)
    expect(keyServer.fetches).toBe(2)
  },
)

test('why tokens of the issuer are rejected is logged once in ten seconds, without what they say', async () => {
  const { server } = await start()
  const reject = async (claims: Record<string, unknown>) =>
    expect(await callWith(server, await signToken(key, claims))).toEqual(INVALID)
  stopClock()
  await reject({ aud: 'https://secret.example.com' })
  await reject({ iss: 'https://secret.example.com' })
  stopClock(10_000)
  await reject({ sub: 'secret\n' })
  stopClock(10_000)
  const header = { alg: 'ES256', kid: 'first', crit: ['secret'], secret: 1 }
  const token = await new SignJWT(validClaims())
    .setProtectedHeader(header)
    .sign(key.privateKey, { crit: { secret: true } })
  expect(await callWith(server, token)).toEqual(INVALID)
  expect(loggedReasons()).toEqual([
    'unexpected "aud" claim value',
    '"sub" claim is not an account name',
    'ERR_JOSE_NOT_SUPPORTED',
  ])
  expect(JSON.stringify(lines)).not.toContain('secret')
})

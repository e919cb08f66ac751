/** When the keys of the token issuer are fetched and how long they are cached, also from key servers that fail. */
import { once } from 'node:events'
import { Readable } from 'node:stream'
import { createGzip } from 'node:zlib'
import { SignJWT } from 'jose'
import { afterEach, expect, test, vi } from 'vitest'
import { until } from '../../../test/helpers/programs.ts'
import type { Settings } from '../../src/index.ts'
import { logRejections } from '../../src/telemetry/log.ts'
import {
  AUDIENCE,
  createKey,
  ISSUER,
  type Respond,
  signToken,
  startTokenIssuer,
  validClaims,
} from '../helpers/issuer.ts'
import { createMemoryLog } from '../helpers/log-lines.ts'

const INVALID = 40102
const UNAVAILABLE = 50300
/** The time after a fetch of the keys in which they are not fetched again, in milliseconds. */
const COOL_DOWN = 10_000
const DAY = 24 * 3_600_000

const key = await createKey('first')
afterEach(() => {
  vi.restoreAllMocks()
  vi.useRealTimers()
})

/** Starts an issuer, and a server with the log of `serve`. */
async function start(settings: Partial<Settings> = {}, signer = key) {
  const log = await createMemoryLog()
  const issuer = await startTokenIssuer(signer, settings, { logger: log.logger })
  logRejections(log.logger)
  return {
    ...issuer,
    log,
    /** Lists plants with a token of these claims. */
    listAs: async (claims: Record<string, unknown>) => issuer.list(await signToken(signer, claims)),
    /** Returns why tokens were rejected, as the log says. */
    reasons: () => log.lines().flatMap(({ event, reason }) => (event === 'token rejected' ? [reason] : [])),
  }
}

/** Signs a token that names an unknown key. */
const signUnknown = (kid = 'unknown') => signToken({ ...key, jwk: { ...key.jwk, kid } })
const signMany = (count: number) => Promise.all(Array.from({ length: count }, (_, index) => signUnknown(`${index}`)))

/** Stops the clock that measures durations, or moves it ahead: a slow machine fetches the keys no more often. */
function stopClock(ahead = 0): void {
  const standing = performance.now() + ahead
  vi.spyOn(performance, 'now').mockReturnValue(standing)
}

const DOWN: Respond = (request) => request.socket.destroy()
const invalidResponses: Record<string, Respond> = {
  'a closed connection': DOWN,
  500: (_request, response) => response.writeHead(500).end('{"keys":[]}'),
  'JSON that is not a key set': (_request, response) => response.end('{"keys":null}'),
  'a redirect': (request, response) => response.writeHead(302, { location: `${request.url}?again` }).end(),
  'half of a key set': (_request, response) =>
    response.writeHead(200, { 'content-length': 100 }).write('{"keys"', () => response.destroy()),
}

test('before the first fetch of the keys succeeds, whatever the key server responds, tokens of the issuer get a 503 with Retry-After; own tokens work', async () => {
  const { keyServer, server, list } = await start()
  const token = await signToken(key)
  for (const [title, respond] of Object.entries(invalidResponses)) {
    keyServer.respond = respond
    expect(await list(token), title).toBe(UNAVAILABLE)
    const { headers } = await server.call('/plants', { token })
    expect([headers.get('retry-after'), headers.get('www-authenticate')]).toEqual(['10', null])
    expect(await list(server.token)).toBe(200)
  }
  keyServer.respond = undefined
  expect(await list(token)).toBe(200)
})

test('before the first fetch of the keys succeeds, 100 requests have two log lines a second, which say why', async () => {
  const { keyServer, list, log } = await start()
  // A slow startup says that it waits for the database.
  const started = log.lines().length
  stopClock()
  keyServer.respond = DOWN
  const tokens = await signMany(100)
  expect(new Set(await Promise.all(tokens.map(list)))).toEqual(new Set([UNAVAILABLE]))
  const reason = expect.stringMatching(/JWT_JWKS_URL: fetch failed: other side closed/)
  expect(log.lines().slice(started)).toMatchObject([
    { reason: 'issuer-keys' },
    { level: 'warn', err: { message: reason } },
  ])
  for (const part of tokens.flatMap((token) => token.split('.'))) expect(log.written()).not.toContain(part)
})

test('where the keys have moved is logged', async () => {
  const { keyServer, list, log } = await start()
  keyServer.respond = (_request, response) => response.writeHead(308, { location: 'https://new.example.com/k' }).end()
  expect(await list(await signToken(key))).toBe(UNAVAILABLE)
  expect(log.written()).toContain('it responds 308, a redirect to https://new.example.com/k: set that one')
})

test('of compressed keys without end, only the start is read', async () => {
  const { keyServer, list, log } = await start()
  const spaces = Buffer.alloc(2 ** 16, ' ')
  let sent = 0
  let closed: Promise<unknown> | undefined
  keyServer.respond = (_request, response) => {
    closed = once(response.writeHead(200, { 'content-encoding': 'gzip' }), 'close')
    const read = function (this: Readable) {
      sent += spaces.length
      this.push(spaces)
    }
    new Readable({ read }).pipe(createGzip({ level: 1 })).pipe(response)
  }
  expect(await list(await signToken(key))).toBe(UNAVAILABLE)
  await closed
  // What the sockets buffer is sent too, and spaces are compressed to a thousandth.
  expect(sent).toBeLessThan(2 ** 30)
  expect(log.written()).toContain('more than 262144 bytes')
})

test('once the keys were fetched, a token that names an unknown key gets a 401 without a fetch for ten seconds; while the issuer is unavailable it gets a 503, and known keys are used for a day', async () => {
  const { keyServer, list, listAs } = await start()
  expect(await listAs({ jti: '1' })).toBe(200)
  const unknown = await signMany(20)
  const results = async () => new Set(await Promise.all(unknown.map(list)))
  expect(await results()).toEqual(new Set([INVALID]))
  expect(keyServer.fetches).toBe(1)

  keyServer.respond = DOWN
  stopClock(DAY - 60_000)
  expect(await results()).toEqual(new Set([UNAVAILABLE]))
  expect(await listAs({ jti: '2' })).toBe(200)
  stopClock(60_001)
  expect(await listAs({ jti: '3' })).toBe(UNAVAILABLE)
})

test('once the keys were fetched, a key server that never responds delays no other request', async () => {
  const { keyServer, server, list, listAs } = await start()
  expect(await listAs({ jti: '1' })).toBe(200)
  keyServer.respond = () => {}
  stopClock(COOL_DOWN)
  let ended = false
  const waiting = list(await signUnknown()).finally(() => {
    ended = true
  })
  await until(() => keyServer.fetches === 2)
  expect([await list(server.token), await listAs({ jti: '2' }), ended]).toEqual([200, 200, false])
  expect(await waiting).toBe(UNAVAILABLE)
})

test.each([
  ['first', 'second'],
  ['first', 'first'],
  [undefined, undefined],
])(
  'a key with the id %s replaced by one with the id %s is rejected, and the new one is fetched, also when the time of day steps back',
  async (...ids) => {
    const [old, next] = await Promise.all([createKey(ids[0]), createKey(ids[1])])
    const { keyServer, list, listAs } = await start({}, old)
    expect(await listAs({ jti: '1' })).toBe(200)
    keyServer.keys = [next.jwk]
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() - 3_600_000 })
    stopClock(COOL_DOWN)
    expect(await list(await signToken(next))).toBe(200)
    expect(await listAs({ jti: '2' })).toBe(INVALID)
    expect(keyServer.fetches).toBe(2)

    keyServer.keys = []
    stopClock(DAY)
    expect(await list(await signToken(next, { jti: '2' }))).toBe(INVALID)
    expect(keyServer.fetches).toBe(3)
  },
)

test.each([undefined, 'first'])('of keys with the id %s, some malformed, each may sign, and no other', async (kid) => {
  const { keyServer, list, reasons } = await start()
  stopClock()
  const algorithms = ['ES256', 'ES256', 'ES256', 'RS256', 'Ed25519']
  const [other = key, ...published] = await Promise.all(algorithms.map((algorithm) => createKey(kid, algorithm)))
  // A point that is not on its curve, parts that are not text, and none.
  const malformed = [{ x: 'AA', y: 'AA' }, { x: 1, y: {} } as object, {}].map((parts) => ({
    ...{ kty: 'EC', crv: 'P-256', ...parts, ...(kid && { kid }) },
  }))
  const others = ['text', null, 1, true, []] as unknown[] as object[]
  // Without an algorithm, an elliptic curve matches both of its kind.
  keyServer.keys = [...others, ...malformed, ...published.map(({ jwk: { alg, ...jwk } }) => jwk)]
  for (const [index, each] of published.entries()) expect(await list(await signToken(each)), `${index}`).toBe(200)
  expect(await list(await signToken(published[1] ?? key, { exp: 1 }))).toBe(40103)
  expect(reasons()).toEqual([])
  expect(await list(await signToken(other))).toBe(INVALID)
  expect(reasons()).toEqual(['signature verification failed'])
  expect(await list(await signUnknown())).toBe(INVALID)
  expect(keyServer.fetches).toBe(1)
})

test('each reason why tokens of the issuer are rejected is logged once in ten seconds, beside what was expected', async () => {
  const { list, listAs, log } = await start()
  stopClock()
  expect(await listAs({ aud: undefined, client_id: 'secret', scope: 'plants/read' })).toBe(INVALID)
  for (const aud of ['https://other.example.com', 'https://another.example.com']) {
    expect(await listAs({ aud: ['b', aud] })).toBe(INVALID)
  }
  expect(await listAs({ iss: ISSUER.slice(0, -1) })).toBe(INVALID)
  expect(await listAs({ sub: 'secret\n' })).toBe(INVALID)
  const header = { alg: 'ES256', kid: 'first', crit: ['secret'], secret: 1 }
  const token = new SignJWT(validClaims()).setProtectedHeader(header)
  expect(await list(await token.sign(key.privateKey, { crit: { secret: true } }))).toBe(INVALID)
  stopClock(10_001)
  expect(await listAs({ aud: `${AUDIENCE}/` })).toBe(INVALID)
  const reason = 'unexpected "aud" claim value'
  const hint = 'only the last slash differs'
  const expected = { iss: ISSUER, aud: AUDIENCE }
  const rejected = log.lines().filter(({ event }) => event === 'token rejected')
  expect(rejected).toMatchObject([
    { reason: expect.stringContaining('Amazon Cognito, which have none, are not supported'), expected },
    { reason, expected, received: { aud: ['b', 'https://other.example.com'] } },
    { reason: 'unexpected "iss" claim value', expected, received: { iss: ISSUER.slice(0, -1) }, hint },
    { reason: '"sub" claim is not an account name' },
    { reason: 'ERR_JOSE_NOT_SUPPORTED' },
    { reason, expected, received: { aud: `${AUDIENCE}/` }, hint },
  ])
  expect(rejected[1]).not.toHaveProperty('hint')
  expect(log.written()).not.toContain('secret')
})

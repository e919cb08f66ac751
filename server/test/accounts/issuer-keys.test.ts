/** When the keys of the token issuer are fetched and how long they are used, also while it fails; and what is logged. */
import { afterEach, expect, test, vi } from 'vitest'
import { until } from '../../../test/helpers/programs.ts'
import { logRejections } from '../../src/telemetry/log.ts'
import { AUDIENCE, createKey, ISSUER, type Respond, signToken, startTokenIssuer } from '../helpers/issuer.ts'
import { createMemoryLog } from '../helpers/log-lines.ts'

const INVALID = 40102
const UNAVAILABLE = 50300
const SECOND = 1_000
const MINUTE = 60_000
const DAY = 86_400_000

const key = await createKey('first')
afterEach(() => {
  vi.useRealTimers()
})

/** Starts an issuer, and a server with the log of `serve`. The time of day stands still, and begins with 0. */
async function start() {
  const log = await createMemoryLog()
  const issuer = await startTokenIssuer(key, {}, { logger: log.logger })
  logRejections(log.logger)
  const begin = Date.now()
  vi.useFakeTimers({ toFake: ['Date'], now: begin })
  let count = 0
  return {
    ...issuer,
    log,
    setTime: (time: number) => vi.setSystemTime(begin + time),
    /** Lists plants with a token that is not cached yet. */
    listAs: async (claims: Record<string, unknown> = {}) =>
      issuer.list(await signToken(key, { jti: count++, ...claims })),
    /** Lists plants with tokens that name unknown keys, and returns the different results. */
    async listForged() {
      const sign = (_: unknown, index: number) => signToken({ ...key, jwk: { ...key.jwk, kid: `unknown ${index}` } })
      const tokens = await Promise.all(Array.from({ length: 20 }, sign))
      return [...new Set(await Promise.all(tokens.map(issuer.list)))]
    },
  }
}

const FAILING: Respond = (_request, response) => response.writeHead(500).end('{"keys":[]}')
const invalidResponses: Record<string, Respond> = {
  500: FAILING,
  'JSON that is not a key set': (_request, response) => response.end('{"keys":null}'),
  'a key set without end': (_request, response) => response.writeHead(200).write('{"keys":['),
}

test('before the keys are fetched, tokens of the issuer get a 503 and are one fetch in ten seconds, whatever it responds; own tokens work', async () => {
  const { keyServer, server, list, listAs, listForged, log, setTime } = await start()
  const token = await signToken(key)
  const timeout = AbortSignal.timeout
  const timeouts = vi.spyOn(AbortSignal, 'timeout')
  for (const [index, [title, respond]] of Object.entries(invalidResponses).entries()) {
    if (title.endsWith('without end')) timeouts.mockImplementation((time) => timeout(time / 10))
    setTime(index * 10 * SECOND)
    keyServer.respond = respond
    expect(await listForged(), title).toEqual([UNAVAILABLE])
    setTime(index * 10 * SECOND + 9_999)
    expect(await listAs(), title).toBe(UNAVAILABLE)
    expect(keyServer.fetches, title).toBe(index + 1)
    const { headers } = await server.call('/plants', { token })
    expect([headers.get('retry-after'), headers.get('www-authenticate')]).toEqual(['10', null])
    expect(await list(server.token)).toBe(200)
  }
  timeouts.mockRestore()
  setTime(MINUTE)
  keyServer.respond = undefined
  expect(await list(token)).toBe(200)
  const message = expect.stringMatching(/JWT_JWKS_URL: Expected 200 OK/)
  const lines = log.lines()
  expect(lines).toContainEqual(expect.objectContaining({ reason: 'issuer-keys' }))
  expect(lines).toContainEqual(expect.objectContaining({ level: 'warn', err: expect.objectContaining({ message }) }))
  for (const part of token.split('.')) expect(log.written()).not.toContain(part)
})

test('while the issuer is down, forged tokens are one fetch in ten seconds, and known keys are used for a day', async () => {
  const { keyServer, listAs, listForged, log, setTime } = await start()
  expect(await listAs()).toBe(200)
  setTime(9_999)
  expect([await listForged(), keyServer.fetches]).toEqual([[INVALID], 1])
  keyServer.respond = FAILING
  setTime(10 * SECOND)
  expect([await listForged(), keyServer.fetches]).toEqual([[UNAVAILABLE], 2])
  setTime(19_999)
  expect([await listForged(), await listAs(), keyServer.fetches]).toEqual([[UNAVAILABLE], 200, 2])
  setTime(DAY - 1)
  expect(await listAs()).toBe(200)
  await until(() => log.written().includes('the keys of JWT_ISSUER cannot be refreshed'))
  setTime(DAY)
  expect(await listAs()).toBe(UNAVAILABLE)
})

test('while tokens are verified, the keys are refreshed in the background every ten minutes, so that an outage a day later does not matter', async () => {
  const { keyServer, list, listAs, setTime } = await start()
  const next = await createKey('second')
  for (const [index, minutes] of [0, 10, 23 * 60 + 59].entries()) {
    setTime(minutes * MINUTE)
    expect([await listAs(), await listAs()]).toEqual([200, 200])
    await until(() => keyServer.fetches === index + 1)
  }
  // A new key is fetched.
  keyServer.keys = [key.jwk, next.jwk]
  setTime(DAY)
  expect([await list(await signToken(next)), keyServer.fetches]).toEqual([200, 4])
  // A fetch without a response delays nothing.
  keyServer.respond = () => {}
  setTime(DAY + 10 * MINUTE)
  expect([await listAs(), await listAs()]).toEqual([200, 200])
  await until(() => keyServer.fetches === 5)
})

test.each([undefined, 'first'])('of keys with the id %s, one malformed, each may sign, and no other', async (kid) => {
  const { keyServer, list } = await start()
  const algorithms = ['ES256', 'ES256', 'ES256', 'RS256', 'Ed25519']
  const [other = key, ...published] = await Promise.all(algorithms.map((algorithm) => createKey(kid, algorithm)))
  // A point that is not on its curve.
  const malformed = { kty: 'EC', crv: 'P-256', x: 'AA', y: 'AA', ...(kid && { kid }) }
  // Without an algorithm, an elliptic curve matches both of its kind.
  keyServer.keys = [malformed, ...published.map(({ jwk: { alg, ...jwk } }) => jwk)]
  for (const [index, each] of published.entries()) expect(await list(await signToken(each)), `${index}`).toBe(200)
  expect(await list(await signToken(published[1] ?? key, { exp: 1 }))).toBe(40103)
  expect(await list(await signToken(other))).toBe(INVALID)
  expect(keyServer.fetches).toBe(1)
})

test('each reason why tokens are rejected is logged once in ten seconds, beside what was expected and what came', async () => {
  const { listAs, log } = await start()
  const standing = performance.now()
  const now = vi.spyOn(performance, 'now').mockReturnValue(standing)
  for (const aud of ['https://a.example.com', 'https://b.example.com']) expect(await listAs({ aud })).toBe(INVALID)
  expect(await listAs({ sub: 'ada\n' })).toBe(INVALID)
  // A program of Entra ID.
  for (const scope of ['openid', undefined]) expect(await listAs({ scope, roles: ['Plants.Read'] })).toBe(40301)
  now.mockReturnValue(standing + 10_001)
  expect(await listAs({ aud: `${AUDIENCE}/` })).toBe(INVALID)
  now.mockRestore()
  const expected = { iss: ISSUER, aud: AUDIENCE }
  const aud = 'unexpected "aud" claim value'
  expect(log.lines().filter(({ event }) => event === 'token rejected')).toMatchObject([
    { reason: aud, expected, received: { iss: ISSUER, aud: 'https://a.example.com' } },
    { reason: '"sub" claim is not an account name', received: { sub: 'ada\n' } },
    { reason: 'neither "scope" nor "scp" has read or write', received: { scope: 'openid', roles: ['Plants.Read'] } },
    { reason: aud, expected, received: { aud: `${AUDIENCE}/` } },
  ])
})

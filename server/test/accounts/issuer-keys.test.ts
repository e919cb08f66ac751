/** What follows where the keys of the token issuer change or cannot be fetched, and what is logged of its tokens. */
import { afterEach, expect, test, vi } from 'vitest'
import { logRejections } from '../../src/telemetry/log.ts'
import { AUDIENCE, createKey, ISSUER, type Respond, signToken, startTokenIssuer } from '../helpers/issuer.ts'
import { createMemoryLog } from '../helpers/log-lines.ts'

const INVALID = 40102
/** The time in which the keys may be fetched once, in milliseconds. */
const COOLDOWN = 10_000

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
  }
}

const invalidResponses: Record<string, Respond> = {
  'a closed connection': (request) => request.socket.destroy(),
  500: (_request, response) => response.writeHead(500).end('{"keys":[]}'),
  'JSON that is not a key set': (_request, response) => response.end('{"keys":null}'),
  // Three seconds of the clock that does not stand still.
  'a key set without end': (_request, response) => response.writeHead(200).write('{"keys":['),
}

test('where the keys cannot be fetched, tokens of the issuer get a 503, and own tokens work', async () => {
  const { keyServer, server, list, log, setTime } = await start()
  const token = await signToken(key)
  for (const [index, [title, respond]] of Object.entries(invalidResponses).entries()) {
    setTime(index * COOLDOWN)
    keyServer.respond = respond
    const { status, headers } = await server.call('/plants', { token })
    const received = [status, headers.get('retry-after'), headers.get('www-authenticate')]
    expect(received, title).toEqual([503, '10', null])
    expect(await list(server.token)).toBe(200)
  }
  setTime(Object.keys(invalidResponses).length * COOLDOWN)
  keyServer.respond = undefined
  expect(await list(token)).toBe(200)
  const message = expect.stringMatching(/JWT_JWKS_URL: Expected 200 OK/)
  const lines = log.lines()
  expect(lines).toContainEqual(expect.objectContaining({ reason: 'issuer-keys' }))
  expect(lines).toContainEqual(expect.objectContaining({ level: 'warn', err: expect.objectContaining({ message }) }))
  for (const part of token.split('.')) expect(log.written()).not.toContain(part)
})

test('a new key is fetched, and one that is no longer published is rejected', async () => {
  const { keyServer, list, listAs, setTime } = await start()
  expect(await listAs()).toBe(200)
  const next = await createKey('second')
  keyServer.keys = [next.jwk]
  setTime(COOLDOWN)
  expect(await list(await signToken(next))).toBe(200)
  expect(await listAs()).toBe(INVALID)
})

test.each([undefined, 'first'])('of keys with the id %s, one malformed, each may sign, and no other', async (kid) => {
  const { keyServer, list } = await start()
  const algorithms = ['ES256', 'ES256', 'ES256', 'RS256']
  const [other = key, ...published] = await Promise.all(algorithms.map((algorithm) => createKey(kid, algorithm)))
  // A point that is not on its curve.
  const malformed = { kty: 'EC', crv: 'P-256', x: 'AA', y: 'AA', ...(kid && { kid }) }
  keyServer.keys = [malformed, ...published.map(({ jwk: { alg, ...jwk } }) => jwk)]
  for (const [index, each] of published.entries()) expect(await list(await signToken(each)), `${index}`).toBe(200)
  expect(await list(await signToken(published[1] ?? key, { exp: 1 }))).toBe(40103)
  expect(await list(await signToken(other))).toBe(INVALID)
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

/** Which JSON Web Tokens are accepted. */
import { afterEach, expect, test, vi } from 'vitest'
import { AUDIENCE, createKey, ISSUER, signToken, startTokenIssuer } from '../helpers/issuer.ts'

const algorithms = ['RS256', 'PS256', 'ES256', 'EdDSA', 'Ed25519']
const keys = await Promise.all(algorithms.map((algorithm) => createKey(algorithm, algorithm)))
const issuer = await startTokenIssuer(await createKey('first'))
const notAllowed = await createKey('RS512', 'RS512')
issuer.keyServer.keys.push(...[...keys, notAllowed].map(({ jwk }) => jwk))
/** Its issuer has one key. */
const limited = await startTokenIssuer(issuer.key, { rateLimit: { requests: 3, seconds: 3_600 } })
afterEach(() => {
  vi.restoreAllMocks()
  vi.useRealTimers()
})

test.each(keys)('a token of the issuer signed with $jwk.kid is accepted', async (key) => {
  expect(await issuer.list(await signToken(key))).toBe(200)
})

test('a token of the issuer is accepted without a key id if the issuer has one key, with several audiences, and as an access token', async () => {
  const { alg = '' } = limited.key.jwk
  expect(await limited.list(await signToken({ ...limited.key, jwk: { alg } }))).toBe(200)
  expect(await issuer.list(await signToken(issuer.key, { aud: [AUDIENCE, 'https://other.test'] }))).toBe(200)
  expect(await issuer.list(await signToken(issuer.key, {}, { typ: 'application/AT+JWT' }))).toBe(200)
})

test('a token of the issuer sees the plants of its own account, also those that an own token created, and no others', async () => {
  const { token: own } = await issuer.server.createToken({ account: 'bea' })
  const [bea = '', carl = ''] = await Promise.all(['bea', 'carl'].map((sub) => signToken(issuer.key, { sub })))
  await issuer.server.post('{"id":1,"name":"Monstera"}', { token: bea })
  await issuer.server.post('{"id":2,"name":"Calathea"}', { token: own })
  const listed = async (token: string) => (await issuer.server.call('/plants', { token })).json()
  expect(await listed(carl)).toEqual([])
  expect(await listed(bea)).toEqual([{ name: 'Monstera' }, { name: 'Calathea' }])
})

test.each<[object, number, number]>([
  [{ scope: 'openid  write profile read' }, 200, 200],
  [{ scope: 'READ reads' }, 403, 403],
  // Entra ID, and Okta.
  [{ scp: 'write' }, 403, 200],
  [{ scp: ['read', 'offline_access'] }, 200, 403],
  [{ scope: 'openid', scp: 'write' }, 403, 403],
  [{ scope: [{}, 7, null], roles: ['read', 'write'] }, 403, 403],
])('a token with %j: GET gets a %d and POST a %d', async (claims, get, post) => {
  const token = await signToken(issuer.key, { sub: 'scopes', scope: undefined, ...claims })
  expect((await issuer.server.call('/plants', { token })).status).toBe(get)
  expect((await issuer.server.post('{"id":1,"name":"Ficus"}', { token })).status).toBe(post)
})

test.each<[string, Record<string, unknown> | (() => Promise<string> | string)]>([
  ['of another issuer, if only by a slash', { iss: ISSUER.slice(0, -1) }],
  ['without an issuer', { iss: undefined }],
  ['for another audience', { aud: 'https://other.example.com' }],
  ['without an expiry', { exp: undefined }],
  ['that expires after the year 9999', { exp: 253_402_300_800 }],
  ['that was issued in milliseconds', { iat: Date.now() }],
  ['without a subject', { sub: undefined }],
  ['whose subject has a lone surrogate, which storage cannot distinguish', { sub: 'ada\ud800' }],
  ['whose subject is longer than an account name', { sub: 'a'.repeat(201) }],
  ['with an algorithm that is not allowed', () => signToken(notAllowed)],
  ['whose signature has another spelling', async () => respell(await signToken(issuer.key))],
  ['signed by another key of the same id', async () => signToken(await createKey('first'))],
  // RFC 8725 section 3.11: they are for other purposes.
  ['of the type logout+jwt', () => signToken(issuer.key, {}, { typ: 'logout+jwt' })],
])('a token gets a 401 %s', async (_title, claims) => {
  const token = await (typeof claims === 'function' ? claims() : signToken(issuer.key, claims))
  expect(await issuer.list(token)).toBe(40102)
})

/** Changes unused bits of the last letter, which decoders ignore: one token would have many spellings, each of them cached. */
function respell(token: string): string {
  const last = token.charCodeAt(token.length - 1)
  return token.slice(0, -1) + String.fromCharCode(last + 1)
}

test('clock skew of five seconds is allowed for expiry and start of validity', async () => {
  const now = Math.floor(Date.now() / 1000)
  // The clock stands still, however long the test takes.
  vi.useFakeTimers({ toFake: ['Date'], now: now * 1000 })
  const claims = [{ exp: now - 4 }, { exp: now - 5 }, { nbf: now + 5 }, { nbf: now + 6 }]
  const tokens = await Promise.all(claims.map((each) => signToken(issuer.key, each)))
  expect(await Promise.all(tokens.map(issuer.list))).toEqual([200, 40103, 200, 40102])
})

test('a token that is cached gets a 401 once it has expired', async () => {
  const standing = performance.now()
  vi.spyOn(performance, 'now').mockReturnValue(standing)
  const own = await issuer.server.createToken({ expiresAt: new Date(Date.now() + 300_000) })
  const tokens = [own.token, await signToken(issuer.key)]
  expect(await Promise.all(tokens.map(issuer.list))).toEqual([200, 200])
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 310_000 })
  expect(await Promise.all(tokens.map(issuer.list))).toEqual([40103, 40103])
})

test('all tokens of a subject share one rate limit, however they are signed', async () => {
  const listAs = async (claims: object) => limited.list(await signToken(limited.key, { sub: 'eve', ...claims }))
  const first = await signToken(limited.key, { sub: 'eve' })
  expect(await limited.list(first)).toBe(200)
  // The same claims have another signature each time.
  expect(await listAs({})).toBe(200)
  expect(await listAs({ jti: '2', scope: 'read' })).toBe(200)
  expect(await limited.list(first)).toBe(42900)
  expect(await listAs({ jti: '3' })).toBe(42900)
  expect(await listAs({ sub: 'mallory' })).toBe(200)
})

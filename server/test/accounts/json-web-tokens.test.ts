/** Which JSON Web Tokens are accepted. */
import { generateKeyPairSync, sign } from 'node:crypto'
import { type CryptoKey, exportJWK, exportSPKI, importJWK, SignJWT, UnsecuredJWT } from 'jose'
import { afterEach, expect, test, vi } from 'vitest'
import { startTestServer } from '../../../test/helpers/server/start-test-server.ts'
import {
  AUDIENCE,
  createKey,
  ISSUER,
  resultOf,
  signToken,
  startTokenIssuer,
  validClaims,
} from '../helpers/accounts/token-issuer.ts'

const INVALID = 'Bearer realm="plant-store", error="invalid_token"'

const algorithms = ['RS256', 'PS256', 'ES256', 'EdDSA', 'Ed25519']
const keys = await Promise.all(algorithms.map((algorithm) => createKey(algorithm, algorithm)))
const short = generateKeyPairSync('rsa', { modulusLength: 1024 })
const issuer = await startTokenIssuer(await createKey('first'))
issuer.keyServer.keys.push(...keys.map(({ jwk }) => jwk), { ...(await exportJWK(short.publicKey)), kid: 'short' })
/** Its issuer has one key. */
const limited = await startTokenIssuer(issuer.key, { rateLimit: { requests: 3, seconds: 3_600 } })
afterEach(() => {
  vi.restoreAllMocks()
  vi.useRealTimers()
})

/** Signs a valid token with a header `typ`. */
function signWithType(typ: unknown): Promise<string> {
  const header = { alg: 'ES256', kid: 'first', typ: typ as string }
  return new SignJWT(validClaims()).setProtectedHeader(header).sign(issuer.key.privateKey)
}

test('a token with an algorithm that is not allowed gets a 401 without a fetch of the keys', async () => {
  expect(await statusOf(limited, await signToken(await createKey('first', 'RS512')))).toBe(401)
  expect(limited.keyServer.fetches).toBe(0)
})

test.each(keys)('a token of the issuer signed with $jwk.kid is accepted', async (key) => {
  const token = await signToken(key, { sub: key.jwk.kid })
  expect((await issuer.server.post('{"id":1,"name":"Ficus"}', { token })).status).toBe(200)
  expect(await (await issuer.server.call('/plants', { token })).json()).toEqual([{ name: 'Ficus' }])
})

test('a token of the issuer is accepted without a key id if the issuer has one key, and with several audiences', async () => {
  const { alg = '' } = limited.key.jwk
  expect(await statusOf(limited, await signToken({ ...limited.key, jwk: { alg } }))).toBe(200)
  expect(await statusOf(issuer, await signToken(issuer.key, { aud: [AUDIENCE, 'https://other.test'] }))).toBe(200)
})

test.each(['JWT', 'at+jwt', 'application/AT+JWT'])('a token of the issuer of the type %s is accepted', async (typ) => {
  expect(await statusOf(issuer, await signWithType(typ))).toBe(200)
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

test('a token of the issuer is unknown if no issuer is set', async () => {
  await using plain = await startTestServer()
  const response = await plain.call('/plants', { token: await signToken(issuer.key) })
  expect(await resultOf(response)).toEqual({ status: 401, error: 40102 })
})

test.each<[object, number, number]>([
  [{ scope: 'read' }, 200, 403],
  [{ scope: 'write' }, 403, 200],
  [{ scope: 'openid  write profile read' }, 200, 200],
  [{ scope: 'READ reads' }, 403, 403],
  [{ scope: ['openid', 'write'] }, 403, 200],
  // Entra ID, and Okta.
  [{ scp: 'write read' }, 200, 200],
  [{ scp: ['read', 'offline_access'] }, 200, 403],
  [{ scope: 'openid', scp: 'write' }, 403, 403],
  [{ roles: ['read', 'write'] }, 403, 403],
  [{ scope: [{}, 7, null], scp: 'read' }, 403, 403],
  [{ scope: { read: 'read' } }, 403, 403],
])('a token with %j: GET gets a %d and POST a %d', async (claims, get, post) => {
  const token = await signToken(issuer.key, { sub: 'scopes', scope: undefined, ...claims })
  expect((await issuer.server.call('/plants', { token })).status).toBe(get)
  expect((await issuer.server.post('{"id":1,"name":"Ficus"}', { token })).status).toBe(post)
})

test('a token without the scopes of this service gets a 403 with the missing scope', async () => {
  const response = await issuer.server.call('/plants', { token: await signToken(issuer.key, { scope: 'openid' }) })
  expect(response.headers.get('www-authenticate')).toBe(
    'Bearer realm="plant-store", error="insufficient_scope", scope="read"',
  )
  expect(await resultOf(response)).toEqual({ status: 403, error: 40301 })
})

const seconds = () => Math.floor(Date.now() / 1000)

/** Returns a valid token with another first or second part. */
async function withPart(index: number, part: object): Promise<string> {
  const parts = (await signToken(issuer.key)).split('.')
  return parts.with(index, Buffer.from(JSON.stringify(part)).toString('base64url')).join('.')
}

async function expectRejected(token: string, error = 40102): Promise<void> {
  const response = await issuer.server.call('/plants', { token })
  expect(response.headers.get('www-authenticate')).toBe(INVALID)
  expect(await resultOf(response)).toEqual({ status: 401, error })
}

test('a token gets a 401 (40103) once it has expired, but (40102) if another key of the same id has signed it', async () => {
  const claims = { exp: seconds() - 60 }
  await expectRejected(await signToken(issuer.key, claims), 40103)
  await expectRejected(await signToken({ ...(await createKey('first')), jwk: issuer.key.jwk }, claims))
})

test.each<[string, Record<string, unknown> | (() => Promise<string> | string)]>([
  ['of another issuer, if only by a slash', { iss: ISSUER.slice(0, -1) }],
  ['without an issuer', { iss: undefined }],
  ['for another audience', { aud: 'https://other.example.com' }],
  ['without an audience', { aud: undefined }],
  ['without an expiry', { exp: undefined }],
  ['whose expiry is text', { exp: `${seconds() + 300}` }],
  ['that is not yet valid', { nbf: seconds() + 600 }],
  ['without a subject', { sub: undefined }],
  ['with an empty subject', { sub: '' }],
  ['whose subject is not text', { sub: 7 }],
  ['whose subject has a line break', { sub: 'ada\n' }],
  ['whose subject has a lone surrogate, which storage cannot distinguish', { sub: 'ada\ud800' }],
  ['whose subject is longer than an account name', { sub: 'a'.repeat(201) }],
  ['without a signature (alg none)', () => new UnsecuredJWT(validClaims()).encode()],
  ['with the algorithm none and a signature', () => withPart(0, { alg: 'none', kid: 'first' })],
  ['whose claims were changed', () => withPart(1, { ...validClaims(), sub: 'eve' })],
  ['signed by another key of the same id', async () => signToken(await createKey('first'))],
  ['signed with HS256 and the public key', signWithPublicKey],
  ['with its own key in its header', signWithOwnKey],
  ['signed with a published RSA key of 1024 bits', signWithShortKey],
  // RFC 8725 section 3.11: they are for other purposes.
  ...['logout+jwt', 'application/logout+jwt', '', 7].map((typ): [string, () => Promise<string>] => [
    `of the type ${JSON.stringify(typ)}`,
    () => signWithType(typ),
  ]),
  ...['a.b', 'a.b.c', 'a.b.c.d.e', 'e30.e30.e30', 'bnVsbA.bnVsbA.bnVsbA'].map((token): [string, () => string] => [
    `malformed: ${token}`,
    () => token,
  ]),
])('a token gets a 401 %s', async (_title, claims) =>
  expectRejected(await (typeof claims === 'function' ? claims() : signToken(issuer.key, claims))),
)

test('a long token of the issuer is accepted up to 4096 characters, and then gets a 401 that says so', async () => {
  const [long = '', longer = ''] = await Promise.all(
    [2_700, 2_900].map((size) => signToken(issuer.key, { note: 'a'.repeat(size) })),
  )
  expect([long.length <= 4096, longer.length <= 4096]).toEqual([true, false])
  expect(await statusOf(issuer, long)).toBe(200)
  const response = await issuer.server.call('/plants', { token: longer })
  expect(await response.json()).toEqual({ error: 40102, message: expect.stringContaining('more than 4096 characters') })
})

async function signWithPublicKey(): Promise<string> {
  const secret = Buffer.from(await exportSPKI((await importJWK(issuer.key.jwk)) as CryptoKey))
  return new SignJWT(validClaims()).setProtectedHeader({ alg: 'HS256', kid: 'first' }).sign(secret)
}

async function signWithOwnKey(): Promise<string> {
  const { privateKey, jwk } = await createKey('first')
  const header = { alg: 'ES256', kid: 'first', jwk, jku: 'http://127.0.0.1:1/' }
  return new SignJWT(validClaims()).setProtectedHeader(header).sign(privateKey)
}

async function signWithShortKey(): Promise<string> {
  const { privateKey } = await createKey('short', 'RS256')
  const token = await signToken({ privateKey, jwk: { alg: 'RS256', kid: 'short' } })
  const unsigned = token.slice(0, token.lastIndexOf('.'))
  return `${unsigned}.${sign('sha256', Buffer.from(unsigned), short.privateKey).toString('base64url')}`
}

test('clock skew of five seconds is allowed for expiry and start of validity', async () => {
  const now = seconds()
  // The clock stands still, however long the test takes.
  vi.useFakeTimers({ toFake: ['Date'], now: now * 1000 })
  const claims = [{ exp: now - 4 }, { exp: now - 5 }, { nbf: now + 5 }, { nbf: now + 6 }]
  const tokens = await Promise.all(claims.map((each) => signToken(issuer.key, each)))
  expect(await Promise.all(tokens.map((token) => statusOf(issuer, token)))).toEqual([200, 401, 200, 401])
})

test('a token whose verification is cached gets a 401 once it has expired', async () => {
  const standing = performance.now()
  vi.spyOn(performance, 'now').mockReturnValue(standing)
  const token = await signToken(issuer.key)
  expect((await issuer.server.call('/plants', { token })).status).toBe(200)
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 310_000 })
  expect(await resultOf(await issuer.server.call('/plants', { token }))).toEqual({ status: 401, error: 40103 })
})

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'

async function statusOf({ server }: typeof limited, token: string): Promise<number> {
  return (await server.call('/plants', { token })).status
}

/** Returns other spellings of a part that lenient decoders read as the same bytes. */
function respell(part: string): string[] {
  const others = [...ALPHABET].map((letter) => part.slice(0, -1) + letter)
  const plain = part.replaceAll('-', '+').replaceAll('_', '/')
  const isSame = (other: string) => Buffer.from(other, 'base64url').equals(Buffer.from(part, 'base64url'))
  return [...others, plain].filter((other) => other !== part && isSame(other))
}

test('another spelling of a part of a token gets a 401', async () => {
  // Claims of different lengths, so that some parts have unused bits.
  for (const note of ['', 'a', 'aa']) {
    const parts = (await signToken(limited.key, { sub: `spelled${note}`, note })).split('.')
    const respelled = parts.flatMap((part, index) => respell(part).map((other) => parts.with(index, other).join('.')))
    for (const token of [...respelled, `${parts.join('.')}=`, `${parts.join('.')}==`]) {
      expect(await statusOf(limited, token)).toBe(401)
    }
    expect(await statusOf(limited, parts.join('.'))).toBe(200)
  }
})

test('all tokens of a subject share one rate limit, however they are signed', async () => {
  const first = await signToken(limited.key, { sub: 'eve' })
  expect(await statusOf(limited, first)).toBe(200)
  // The same claims have another signature each time.
  expect(await statusOf(limited, await signToken(limited.key, { sub: 'eve' }))).toBe(200)
  expect(await statusOf(limited, await signToken(limited.key, { sub: 'eve', jti: '2', scope: 'read' }))).toBe(200)
  expect(await statusOf(limited, first)).toBe(429)
  expect(await statusOf(limited, await signToken(limited.key, { sub: 'eve', jti: '3' }))).toBe(429)

  expect(await statusOf(limited, await signToken(limited.key, { sub: 'mallory' }))).toBe(200)
  for (const own of ['first', 'second']) {
    const { token } = await limited.server.createToken({ account: 'eve' })
    expect(await statusOf(limited, token), own).toBe(200)
  }
})

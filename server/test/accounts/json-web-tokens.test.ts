import { generateKeyPairSync, sign } from 'node:crypto'
import { Writable } from 'node:stream'
import { type CryptoKey, exportJWK, exportSPKI, importJWK, SignJWT, UnsecuredJWT } from 'jose'
import pino from 'pino'
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { startTestServer, type TestServer } from '../../../test/helpers/server/start-test-server.ts'
import { until } from '../../../test/helpers/until.ts'
import { readSettings } from '../../src/index.ts'
import {
  AUDIENCE,
  createKey,
  goodClaims,
  ISSUER,
  type KeyServer,
  type ProviderKey,
  signToken,
  startKeyServer,
} from '../helpers/accounts/start-key-server.ts'

const COOL_DOWN = 10_000
const REFUSED = 'Bearer realm="plant-store", error="invalid_token"'

let log = ''
const logger = pino(
  { level: 'trace' },
  new Writable({
    write(chunk, _encoding, done) {
      log += chunk
      done()
    },
  }),
)

function startPlantStore(keyServer: KeyServer): Promise<TestServer> {
  return startTestServer({ jwtIssuer: ISSUER, jwtAudience: AUDIENCE, jwtJwksUrl: keyServer.url }, { logger })
}

async function resultOf(response: Response): Promise<{ status: number; error: number | undefined }> {
  const { error } = (await response.json()) as { error?: number }
  return { status: response.status, error }
}

let key: ProviderKey
let keyServer: KeyServer
let server: TestServer
beforeAll(async () => {
  key = await createKey('first')
  keyServer = await startKeyServer(key)
  server = await startPlantStore(keyServer)
})
afterAll(async () => {
  await server.close()
  await keyServer.stop()
})
afterEach(() => {
  vi.restoreAllMocks()
  vi.useRealTimers()
})

/** Lets time pass for all that measures how long something takes. */
function skip(milliseconds: number): void {
  const now = performance.now.bind(performance)
  vi.spyOn(performance, 'now').mockImplementation(() => now() + milliseconds)
}

describe('a token of the provider', () => {
  test.each(['RS256', 'PS256', 'ES256', 'EdDSA'])('signed with %s is accepted', async (algorithm) => {
    const ofAlgorithm = await createKey(algorithm, algorithm)
    await using provider = await startKeyServer(ofAlgorithm)
    await using store = await startPlantStore(provider)
    const token = await signToken(ofAlgorithm)
    const created = await store.post('{"id":1,"name":"Ficus"}', { token })
    expect(created.status).toBe(200)
    expect(await (await store.call('/plants', { token })).json()).toEqual([{ name: 'Ficus' }])
  })

  test('is accepted without a key id where the provider has one key', async () => {
    const token = await new SignJWT(goodClaims()).setProtectedHeader({ alg: 'ES256' }).sign(key.privateKey)
    expect((await server.call('/plants', { token })).status).toBe(200)
  })

  test('is accepted where this service is one of several audiences', async () => {
    const token = await signToken(key, { aud: ['https://other.example.com', AUDIENCE] })
    expect((await server.call('/plants', { token })).status).toBe(200)
  })

  test('sees the plants of its own account and no others', async () => {
    const [bea, carl] = await Promise.all(['bea', 'carl'].map((sub) => signToken(key, { sub })))
    await server.post('{"id":1,"name":"Monstera"}', { token: bea ?? '' })
    expect(await (await server.call('/plants', { token: carl ?? '' })).json()).toEqual([])
    expect(await (await server.call('/plants', { token: bea ?? '' })).json()).toEqual([{ name: 'Monstera' }])
  })

  test('sees the plants of our own tokens of the same account', async () => {
    const { token: own } = await server.createToken({ account: 'dora' })
    await server.post('{"id":1,"name":"Calathea"}', { token: own })
    const token = await signToken(key, { sub: 'dora' })
    expect(await (await server.call('/plants', { token })).json()).toEqual([{ name: 'Calathea' }])
  })

  test('is unknown where no issuer is set', async () => {
    await using plain = await startTestServer()
    expect(await resultOf(await plain.call('/plants', { token: await signToken(key) }))).toEqual({
      status: 401,
      error: 40102,
    })
  })
})

describe('the scopes of a token', () => {
  test.each([
    ['read', 200, 403],
    ['write', 403, 200],
    ['openid  write profile read', 200, 200],
    ['READ reads', 403, 403],
    ['', 403, 403],
    [undefined, 403, 403],
    [['read', 'write'], 403, 403],
  ])('%j: GET is answered %d and POST %d', async (scope, get, post) => {
    const token = await signToken(key, { sub: 'scopes', scope })
    expect((await server.call('/plants', { token })).status).toBe(get)
    expect((await server.post('{"id":1,"name":"Ficus"}', { token })).status).toBe(post)
  })

  test('that lack ours are answered with what is needed', async () => {
    const response = await server.call('/plants', { token: await signToken(key, { scope: 'openid' }) })
    expect(response.headers.get('www-authenticate')).toBe(
      'Bearer realm="plant-store", error="insufficient_scope", scope="read"',
    )
    expect(await resultOf(response)).toEqual({ status: 403, error: 40301 })
  })
})

describe('a token is refused', () => {
  async function expectRefused(token: string, error = 40102): Promise<void> {
    const response = await server.call('/plants', { token })
    expect(response.headers.get('www-authenticate')).toBe(REFUSED)
    expect(await resultOf(response)).toEqual({ status: 401, error })
  }

  const seconds = () => Math.floor(Date.now() / 1000)

  test.each<[string, () => Record<string, unknown>]>([
    ['of another issuer', () => ({ iss: 'https://login.example.org/' })],
    ['of an issuer that differs in its last slash', () => ({ iss: ISSUER.slice(0, -1) })],
    ['of no issuer', () => ({ iss: undefined })],
    ['for another audience', () => ({ aud: 'https://other.example.com' })],
    ['for no audience', () => ({ aud: undefined })],
    ['that never expires', () => ({ exp: undefined })],
    ['that expires at a text', () => ({ exp: `${seconds() + 300}` })],
    ['that is not yet valid', () => ({ nbf: seconds() + 60 })],
    ['of nobody', () => ({ sub: undefined })],
    ['of an empty subject', () => ({ sub: '' })],
    ['of a subject that is no text', () => ({ sub: 7 })],
    ['of a subject with a line break', () => ({ sub: 'ada\n' })],
    ['of a subject that storage would not keep apart from others', () => ({ sub: 'ada\ud800' })],
    ['of a subject that is longer than an account may be', () => ({ sub: 'a'.repeat(201) })],
    ['that is larger than 4 kB', () => ({ note: 'a'.repeat(4096) })],
  ])('%s', async (_title, claims) => {
    await expectRefused(await signToken(key, claims()))
  })

  test('that has expired, with its own number', async () => {
    await expectRefused(await signToken(key, { exp: seconds() - 60 }), 40103)
  })

  test('that has expired and is signed by somebody else, as unknown', async () => {
    const token = await signToken({ ...(await createKey('first')), jwk: key.jwk }, { exp: seconds() - 60 })
    await expectRefused(token)
  })

  test('that is signed by nobody (alg none)', async () => {
    await expectRefused(new UnsecuredJWT(goodClaims()).encode())
    const header = Buffer.from('{"alg":"none","kid":"first"}').toString('base64url')
    const [, payload] = (await signToken(key)).split('.')
    await expectRefused(`${header}.${payload}.`)
  })

  test.each(['HS256', 'HS512'])('that is signed with the public key as the secret of %s', async (alg) => {
    const pem = await exportSPKI((await importJWK(key.jwk)) as CryptoKey)
    for (const secret of [pem, JSON.stringify(key.jwk), key.jwk.x ?? '']) {
      const token = await new SignJWT(goodClaims())
        .setProtectedHeader({ alg, kid: 'first' })
        .sign(Buffer.from(secret.padEnd(64)))
      await expectRefused(token)
    }
  })

  test('that is signed with a good key by an algorithm that is not on the list', async () => {
    const other = await createKey('rs512', 'RS512')
    await using provider = await startKeyServer(other)
    await using store = await startPlantStore(provider)
    expect(await resultOf(await store.call('/plants', { token: await signToken(other) }))).toEqual({
      status: 401,
      error: 40102,
    })
    expect(provider.fetches).toBe(0)
  })

  test('that is signed with an RSA key of 1024 bits, although the provider publishes it', async () => {
    const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 1024 })
    const short = { ...(await createKey('short', 'RS256')), jwk: { ...(await exportJWK(publicKey)), kid: 'short' } }
    await using provider = await startKeyServer(short)
    await using store = await startPlantStore(provider)
    const unsigned = (await signToken({ ...short, jwk: { ...short.jwk, alg: 'RS256' } })).replace(/\.[^.]*$/, '')
    const signature = sign('sha256', Buffer.from(unsigned), privateKey).toString('base64url')
    expect(await resultOf(await store.call('/plants', { token: `${unsigned}.${signature}` }))).toEqual({
      status: 401,
      error: 40102,
    })
    expect(provider.fetches).toBe(1)
  })

  test('that is signed with another key of the same name', async () => {
    await expectRefused(await signToken({ ...(await createKey('first')), jwk: key.jwk }))
  })

  test('whose claims were changed', async () => {
    const [header, , signature] = (await signToken(key)).split('.')
    const payload = Buffer.from(JSON.stringify({ ...goodClaims(), sub: 'eve' })).toString('base64url')
    await expectRefused(`${header}.${payload}.${signature}`)
  })

  test('that brings its own key', async () => {
    const { privateKey, jwk } = await createKey('first')
    const header = { alg: 'ES256', kid: 'first', jwk, jku: 'http://127.0.0.1:1/' }
    await expectRefused(await new SignJWT(goodClaims()).setProtectedHeader(header).sign(privateKey))
  })

  test.each(['a.b', 'a.b.c', '..', 'a.b.c.d.e', 'e30.e30.e30', 'bnVsbA.bnVsbA.bnVsbA'])('that is only %s', (token) =>
    expectRefused(token),
  )
})

describe('the leeway of the clocks', () => {
  test('lets in a token that expired, or becomes valid, within five seconds', async () => {
    const now = Math.floor(Date.now() / 1000)
    // The clock stands still, so that the test may take its time.
    vi.useFakeTimers({ toFake: ['Date'], now: now * 1000 })
    const status = async (claims: Record<string, unknown>) =>
      (await server.call('/plants', { token: await signToken(key, claims) })).status
    expect(await status({ exp: now - 4 })).toBe(200)
    expect(await status({ exp: now - 5 })).toBe(401)
    expect(await status({ nbf: now + 5 })).toBe(200)
    expect(await status({ nbf: now + 6 })).toBe(401)
  })
})

test('a token that was verified just now is refused once it has expired', async () => {
  const standing = performance.now()
  vi.spyOn(performance, 'now').mockReturnValue(standing)
  const token = await signToken(key)
  expect((await server.call('/plants', { token })).status).toBe(200)
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 310_000 })
  expect(await resultOf(await server.call('/plants', { token }))).toEqual({ status: 401, error: 40103 })
})

describe('keys', () => {
  test('that are new are fetched, and those that are gone refuse their tokens', async () => {
    await using provider = await startKeyServer(key)
    await using store = await startPlantStore(provider)
    const old = await signToken(key)
    expect((await store.call('/plants', { token: old })).status).toBe(200)

    const second = await createKey('second')
    provider.keys = [second.jwk]
    skip(COOL_DOWN)
    expect((await store.call('/plants', { token: await signToken(second) })).status).toBe(200)
    expect((await store.call('/plants', { token: await signToken(key) })).status).toBe(401)
    expect(provider.fetches).toBe(2)
  })

  test('that nobody has are not asked for again and again', async () => {
    await using provider = await startKeyServer(key)
    await using store = await startPlantStore(provider)
    const stranger = await createKey('stranger')
    for (let call = 0; call < 20; call++) {
      const token = await signToken({ ...stranger, jwk: { ...stranger.jwk, kid: `stranger-${call}` } })
      expect(await resultOf(await store.call('/plants', { token }))).toEqual({ status: 401, error: 40102 })
    }
    expect(provider.fetches).toBe(1)
  })

  test('are fetched once for all that wait for them', async () => {
    await using provider = await startKeyServer(key)
    await using store = await startPlantStore(provider)
    const tokens = await Promise.all([...'abcdefgh'].map((sub) => signToken(key, { sub })))
    const responses = await Promise.all(tokens.map((token) => store.call('/plants', { token })))
    expect(responses.map(({ status }) => status)).toEqual(tokens.map(() => 200))
    expect(provider.fetches).toBe(1)
  })

  test('that the provider withdraws are let go after ten minutes', async () => {
    await using provider = await startKeyServer(key)
    await using store = await startPlantStore(provider)
    expect((await store.call('/plants', { token: await signToken(key) })).status).toBe(200)
    provider.keys = []
    skip(600_000)
    await until(async () => (await store.call('/plants', { token: await signToken(key) })).status === 401)
    expect(provider.fetches).toBe(2)
  })
})

describe('a key server that is down', () => {
  test('before the first use: 503 with Retry-After, and our own tokens work', async () => {
    await using provider = await startKeyServer(key)
    await using store = await startPlantStore(provider)
    await provider.stop()
    const token = await signToken(key)
    for (let call = 0; call < 3; call++) {
      const response = await store.call('/plants', { token })
      const retryAfter = Number(response.headers.get('retry-after'))
      expect(retryAfter).toBeGreaterThanOrEqual(1)
      expect(retryAfter).toBeLessThanOrEqual(COOL_DOWN / 1000)
      expect(response.headers.has('www-authenticate')).toBe(false)
      expect(await resultOf(response)).toEqual({ status: 503, error: 50300 })
    }
    expect((await store.call('/plants')).status).toBe(200)

    await provider.restart()
    skip(COOL_DOWN)
    expect((await store.call('/plants', { token })).status).toBe(200)
    const stranger = await signToken(await createKey('stranger'))
    expect((await store.call('/plants', { token: stranger })).status).toBe(401)
  })

  test('later: known keys go on being used, unknown ones are 401', async () => {
    await using provider = await startKeyServer(key)
    await using store = await startPlantStore(provider)
    expect((await store.call('/plants', { token: await signToken(key) })).status).toBe(200)
    await provider.stop()
    skip(24 * 3_600_000)
    for (let call = 0; call < 3; call++) {
      expect((await store.call('/plants', { token: await signToken(key, { jti: `${call}` }) })).status).toBe(200)
    }
    const token = await signToken(await createKey('second'))
    expect(await resultOf(await store.call('/plants', { token }))).toEqual({ status: 401, error: 40102 })
    expect((await store.call('/plants', { token: await signToken(key) })).status).toBe(200)
  })
})

describe('a key server that answers', () => {
  test.each<[string, NonNullable<KeyServer['answer']>]>([
    ['500', (_request, response) => response.writeHead(500).end('{"keys":[]}')],
    ['a page', (_request, response) => response.end('<html></html>')],
    ['JSON that is no set of keys', (_request, response) => response.end('{"keys":{}}')],
    [
      'half of it',
      (_request, response) =>
        response.writeHead(200, { 'content-length': 100 }).write('{"keys"', () => response.destroy()),
    ],
    ['more than it should', (_request, response) => response.end(`{"keys":[]${' '.repeat(2 ** 20)}}`)],
    ['elsewhere', (request, response) => response.writeHead(302, { location: `${request.url}?again` }).end()],
  ])('%s: 503 with Retry-After', async (_title, answer) => {
    await using provider = await startKeyServer(key)
    await using store = await startPlantStore(provider)
    provider.answer = answer
    const response = await store.call('/plants', { token: await signToken(key) })
    expect(response.headers.has('retry-after')).toBe(true)
    expect(await resultOf(response)).toEqual({ status: 503, error: 50300 })
    expect(provider.fetches).toBe(1)
  })

  test('with a key that is none is asked again', async () => {
    await using provider = await startKeyServer(key)
    await using store = await startPlantStore(provider)
    provider.keys = [{ ...key.jwk, x: 'AA' }]
    const token = await signToken(key)
    expect((await store.call('/plants', { token })).status).toBe(503)
    provider.keys = [key.jwk]
    skip(COOL_DOWN)
    expect((await store.call('/plants', { token })).status).toBe(200)
  })

  test('garbage later does not take the known keys away', async () => {
    await using provider = await startKeyServer(key)
    await using store = await startPlantStore(provider)
    expect((await store.call('/plants', { token: await signToken(key) })).status).toBe(200)
    provider.answer = (_request, response) => response.end('{}')
    skip(COOL_DOWN)
    await store.call('/plants', { token: await signToken(await createKey('second')) })
    expect(provider.fetches).toBe(2)
    expect((await store.call('/plants', { token: await signToken(key) })).status).toBe(200)
  })

  test('never: 401 once the time is over, and no other request waits', async () => {
    await using provider = await startKeyServer(key)
    await using store = await startPlantStore(provider)
    expect((await store.call('/plants', { token: await signToken(key) })).status).toBe(200)
    provider.answer = () => {}
    skip(600_000)
    let ended = false
    const waiting = store.call('/plants', { token: await signToken(await createKey('second')) })
    void waiting.finally(() => {
      ended = true
    })
    await until(() => provider.fetches === 2)
    expect((await store.call('/plants')).status).toBe(200)
    expect((await store.call('/plants', { token: await signToken(key, { jti: '2' }) })).status).toBe(200)
    expect(ended).toBe(false)
    expect(await resultOf(await waiting)).toEqual({ status: 401, error: 40102 })
  })
})

test('the log tells that the keys cannot be fetched, and nothing of any token', async () => {
  await using provider = await startKeyServer(key)
  await using store = await startPlantStore(provider)
  log = ''
  await provider.stop()
  const sub = 'a-subject-that-nobody-shall-read'
  const tokens = [
    await signToken(key, { sub }),
    await signToken(key, { sub, exp: 1 }),
    await signToken(key, { sub, nbf: 9e9 }),
  ]
  const call = () => Promise.all(tokens.map(async (token) => (await store.call('/plants', { token })).text()))
  const answers = await call()
  await provider.restart()
  skip(COOL_DOWN)
  answers.push(...(await call()))
  expect(log).toMatch(/ECONNREFUSED.*the keys of JWT_ISSUER cannot be fetched/)
  for (const text of [log, answers.join()]) {
    expect(text).not.toContain(sub)
    for (const part of tokens.join('.').split('.')) expect(text).not.toContain(part)
  }
})

describe('the settings of an issuer', () => {
  const complete = { JWT_ISSUER: ISSUER, JWT_AUDIENCE: AUDIENCE, JWT_JWKS_URL: 'https://login.example.com/jwks.json' }

  test('are off by default and read together', () => {
    const off = { jwtIssuer: undefined, jwtAudience: undefined, jwtJwksUrl: undefined }
    expect(readSettings({})).toMatchObject(off)
    expect(readSettings({ JWT_ISSUER: '', JWT_AUDIENCE: '', JWT_JWKS_URL: '' })).toMatchObject(off)
    expect(readSettings(complete)).toMatchObject({
      jwtIssuer: ISSUER,
      jwtAudience: AUDIENCE,
      jwtJwksUrl: complete.JWT_JWKS_URL,
    })
  })

  test.each(Object.keys(complete))('without %s are a mistake that names it', (name) => {
    expect(() => readSettings({ ...complete, [name]: '' })).toThrow(`  ${name} must be set too`)
  })

  test('that lack something are told with all other mistakes', () => {
    expect(() => readSettings({ JWT_ISSUER: ISSUER, PORT: 'x' })).toThrow(
      /^ {2}PORT [\s\S]*^ {2}JWT_AUDIENCE [\s\S]*^ {2}JWT_JWKS_URL /m,
    )
  })

  test.each([
    'http://localhost:8080/keys',
    'http://127.0.0.1/keys',
    'http://[::1]:80/keys',
    'https://login.example.com',
  ])('take the key server %s', (url) => {
    expect(readSettings({ ...complete, JWT_JWKS_URL: url }).jwtJwksUrl).toBe(url)
  })

  test.each([
    'http://login.example.com/keys',
    'http://127.0.0.1.example.com/keys',
    'http://localhost.example.com/keys',
    'http://localhost@example.com/keys',
    'https://user:password@login.example.com/keys',
    'file:///keys.json',
    'keys',
  ])('refuse the key server %s', (url) => {
    expect(() => readSettings({ ...complete, JWT_JWKS_URL: url })).toThrow('  JWT_JWKS_URL must be an https URL')
  })
})

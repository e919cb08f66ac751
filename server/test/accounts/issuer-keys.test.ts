import { Writable } from 'node:stream'
import { SignJWT } from 'jose'
import pino from 'pino'
import { afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { startTestServer, type TestServer } from '../../../test/helpers/server/start-test-server.ts'
import type { Settings } from '../../src/index.ts'
import { logRejections } from '../../src/telemetry/log-rejections.ts'
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
const INVALID = { status: 401, error: 40102 }
const UNAVAILABLE = { status: 503, error: 50300 }

let key: ProviderKey
beforeAll(async () => {
  key = await createKey('first')
})

let lines: Record<string, unknown>[]
beforeEach(() => {
  lines = []
})
afterEach(() => {
  vi.restoreAllMocks()
})

/** What `serve` logs by default, without the lines of its start. */
const logger = pino(
  { level: 'warn' },
  new Writable({
    write(chunk, _encoding, done) {
      lines.push(JSON.parse(chunk))
      done()
    },
  }),
)

function startPlantStore({ url }: KeyServer, settings: Partial<Settings> = {}): Promise<TestServer> {
  const issuer = { jwtIssuer: ISSUER, jwtAudience: AUDIENCE, jwtJwksUrl: url }
  return startTestServer({ ...issuer, ...settings }, { logger })
}

/** A token that names another key. */
async function signStrange(kid: string): Promise<string> {
  return signToken({ ...key, jwk: { ...key.jwk, kid } })
}

async function resultOf(store: TestServer, token: string): Promise<{ status: number; error: number | undefined }> {
  const response = await store.call('/plants', { token })
  const { error } = (await response.json()) as { error?: number }
  return { status: response.status, error }
}

/** Stops the clock that the cool-down after a fetch is measured with, so that a slow machine fetches no more often. */
function stopClock(ahead = 0): void {
  const standing = performance.now() + ahead
  vi.spyOn(performance, 'now').mockReturnValue(standing)
}

describe('while no key set was ever fetched', () => {
  test('2,000 requests make a handful of log lines, without a stack, and all of them are counted', async () => {
    await using provider = await startKeyServer(key)
    await using store = await startPlantStore(provider)
    const endLog = logRejections(logger)
    stopClock()
    await provider.stop()
    const tokens = await Promise.all(Array.from({ length: 100 }, (_, index) => signStrange(`stranger-${index}`)))
    for (let round = 0; round < 20; round++) {
      const results = await Promise.all(tokens.map((token) => resultOf(store, token)))
      expect(results).toEqual(tokens.map(() => UNAVAILABLE))
    }
    endLog()

    const failed = lines.filter(({ msg }) => msg === 'the keys of JWT_ISSUER cannot be fetched from JWT_JWKS_URL')
    expect(failed).toHaveLength(1)
    expect(failed[0]?.['reason']).toMatch(/^fetch failed: connect ECONNREFUSED /)
    const rejections = lines.map(({ rejected }) => rejected as Record<string, number> | undefined)
    expect(rejections.reduce((sum, rejected) => sum + (rejected?.['issuer-keys'] ?? 0), 0)).toBe(2_000)
    // One line a second beside that of the fetch.
    expect(rejections.filter(Boolean)).toHaveLength(lines.length - 1)
    expect(JSON.stringify(lines)).not.toMatch(/stack|\n {4}at /)
  })

  test('such requests are failed authentications of their address; our own tokens are not', async () => {
    await using provider = await startKeyServer(key)
    await using store = await startPlantStore(provider, { authFailureLimit: { requests: 2, seconds: 3_600 } })
    await provider.stop()
    const token = await signToken(key)
    for (let request = 0; request < 2; request++) expect(await resultOf(store, token)).toEqual(UNAVAILABLE)
    expect(await resultOf(store, token)).toEqual({ status: 429, error: 42900 })
    expect((await store.call('/plants', { token: null })).status).toBe(429)
    expect((await store.call('/plants')).status).toBe(200)

    await provider.restart()
    stopClock(COOL_DOWN)
    expect((await store.call('/plants', { token })).status).toBe(200)
    expect(await resultOf(store, await signStrange('stranger'))).toEqual({ status: 429, error: 42900 })
  })
})

describe('once a key set was fetched, a token that names an unknown key responds 401', () => {
  test.each<[string, (provider: KeyServer) => unknown]>([
    ['during the cool-down', () => {}],
    ['with the key server down', (provider) => [stopClock(COOL_DOWN), provider.stop()]],
    ['with a key server that responds 500', (provider) => fail(provider, (response) => response.writeHead(500).end())],
    ['with a response that is not JSON', (provider) => fail(provider, (response) => response.end('<html>'))],
    ['with a response that is not a key set', (provider) => fail(provider, (response) => response.end('{"keys":{}}'))],
    ['with a key server that never responds', (provider) => fail(provider, () => {})],
  ])('%s', async (_title, prepare) => {
    await using provider = await startKeyServer(key)
    await using store = await startPlantStore(provider)
    expect((await store.call('/plants', { token: await signToken(key) })).status).toBe(200)
    await prepare(provider)
    const before = provider.fetches
    const strange = await Promise.all(Array.from({ length: 20 }, (_, index) => signStrange(`stranger-${index}`)))
    const results = await Promise.all(strange.map((token) => resultOf(store, token)))
    expect(results).toEqual(strange.map(() => INVALID))
    expect(provider.fetches).toBeLessThanOrEqual(before + 1)
    expect(lines.length).toBeLessThanOrEqual(1)
    expect((await store.call('/plants', { token: await signToken(key, { jti: '2' }) })).status).toBe(200)
  })

  function fail(
    provider: KeyServer,
    answer: (response: Parameters<NonNullable<KeyServer['answer']>>[1]) => void,
  ): void {
    stopClock(COOL_DOWN)
    provider.answer = (_request, response) => answer(response)
  }
})

describe('a malformed key in the key set', () => {
  test.each<[string, () => object | null]>([
    ['a point that is not on its curve', () => ({ ...key.jwk, x: 'AA', kid: 'broken' })],
    ['a key without its parts', () => ({ kty: 'EC', crv: 'P-256', kid: 'broken' })],
    ['an RSA key without its parts', () => ({ kty: 'RSA', kid: 'broken' })],
    ['parts that are not text', () => ({ kty: 'EC', crv: 'P-256', x: 1, y: {}, kid: 'broken' })],
    ['a key without a type', () => ({ kid: 'broken' })],
    ['null', () => null],
  ])('(%s) affects neither other keys nor unknown ids, and is logged once for a fetch', async (_title, malformed) => {
    await using provider = await startKeyServer(key)
    stopClock()
    const broken = malformed()
    provider.keys = [broken, ...provider.keys] as KeyServer['keys']
    await using store = await startPlantStore(provider)
    for (let round = 0; round < 3; round++) {
      expect(await resultOf(store, await signStrange('stranger'))).toEqual(INVALID)
      expect(await resultOf(store, await signStrange('broken'))).toEqual(INVALID)
      expect((await store.call('/plants', { token: await signToken(key, { jti: `${round}` }) })).status).toBe(200)
    }
    // The one other key is the only one that a token without a key id can mean.
    const nameless = await new SignJWT(goodClaims()).setProtectedHeader({ alg: 'ES256' }).sign(key.privateKey)
    expect((await store.call('/plants', { token: nameless })).status).toBe(200)
    expect(provider.fetches).toBe(1)
    expect(lines).toMatchObject([{ malformed: 1, kids: [broken === null ? null : 'broken'] }])
  })

  test('that is the only one does not replace the known keys', async () => {
    await using provider = await startKeyServer(key)
    await using store = await startPlantStore(provider)
    expect((await store.call('/plants', { token: await signToken(key) })).status).toBe(200)
    provider.keys = [{ ...key.jwk, x: 'AA' }]
    stopClock(COOL_DOWN)
    expect(await resultOf(store, await signStrange('stranger'))).toEqual(INVALID)
    expect(provider.fetches).toBe(2)
    expect((await store.call('/plants', { token: await signToken(key, { jti: '2' }) })).status).toBe(200)
    expect(lines).toMatchObject([{ reason: 'every key of the key server is malformed' }])
  })
})

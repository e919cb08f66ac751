/** When the keys of the token issuer are fetched, and how long they are cached. */
import { afterEach, beforeAll, expect, test, vi } from 'vitest'
import { until } from '../../../test/helpers/until.ts'
import {
  advanceClock,
  COOL_DOWN,
  createKey,
  type ProviderKey,
  resultOf,
  signToken,
  startKeyServer,
  startWithIssuer,
} from '../helpers/accounts/token-issuer.ts'

let key: ProviderKey
beforeAll(async () => {
  key = await createKey('first')
})
afterEach(() => {
  vi.restoreAllMocks()
})

test('new keys are fetched, and tokens of removed keys get a 401', async () => {
  await using keyServer = await startKeyServer(key)
  await using server = await startWithIssuer(keyServer)
  expect((await server.call('/plants', { token: await signToken(key) })).status).toBe(200)

  const second = await createKey('second')
  keyServer.keys = [second.jwk]
  advanceClock(COOL_DOWN)
  expect((await server.call('/plants', { token: await signToken(second) })).status).toBe(200)
  expect((await server.call('/plants', { token: await signToken(key) })).status).toBe(401)
  expect(keyServer.fetches).toBe(2)
})

test('unknown keys are fetched once per cool-down', async () => {
  await using keyServer = await startKeyServer(key)
  await using server = await startWithIssuer(keyServer)
  const unknown = await createKey('unknown')
  for (let call = 0; call < 20; call++) {
    const token = await signToken({ ...unknown, jwk: { ...unknown.jwk, kid: `unknown-${call}` } })
    expect(await resultOf(await server.call('/plants', { token }))).toEqual({ status: 401, error: 40102 })
  }
  expect(keyServer.fetches).toBe(1)
})

test('one fetch serves all requests that wait for it', async () => {
  await using keyServer = await startKeyServer(key)
  await using server = await startWithIssuer(keyServer)
  const tokens = await Promise.all([...'abcdefgh'].map((sub) => signToken(key, { sub })))
  const responses = await Promise.all(tokens.map((token) => server.call('/plants', { token })))
  expect(responses.map(({ status }) => status)).toEqual(tokens.map(() => 200))
  expect(keyServer.fetches).toBe(1)
})

test('a key that the issuer removes is trusted for at most ten minutes', async () => {
  await using keyServer = await startKeyServer(key)
  await using server = await startWithIssuer(keyServer)
  expect((await server.call('/plants', { token: await signToken(key) })).status).toBe(200)
  keyServer.keys = []
  advanceClock(600_000)
  await until(async () => (await server.call('/plants', { token: await signToken(key) })).status === 401)
  expect(keyServer.fetches).toBe(2)
})

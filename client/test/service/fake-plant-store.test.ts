/** What only the fake of `@plant-store/client/testing` has. */
import { expect, test } from 'vitest'
import type * as sdk from '../../src/index.ts'
import { createPlantStoreClient } from '../../src/index.ts'
import { createFakePlantStore, type Fault } from '../../src/testing/index.ts'
import type { Handler } from '../../src/testing/operations.ts'

const monstera = { id: 9007199254740993n, name: 'Monstera', tag: 'aroid' }
const ficus = { id: 1n, name: 'Ficus' }

test('it handles a Request, as Mock Service Worker passes it, and records requests without the token', async () => {
  const store = createFakePlantStore()
  const url = `${store.baseUrl}/plants`
  const body = '{"id":1,"name":"Ficus"}'
  const json = { 'content-type': 'application/json' }
  const headers = { authorization: `Bearer ${store.token}`, ...json }
  const request = new Request(url, { method: 'POST', headers, body })
  expect((await store.fetch(request.url, request)).status).toBe(200)
  expect(store.plants()).toStrictEqual([ficus])
  await createPlantStoreClient({ ...store, headers: { 'user-agent': 'app' } }).getPlants({ limit: 3 })
  const own = { accept: 'application/json', 'user-agent': 'app' }
  const sender = { account: 'default', scopes: ['read', 'write'] }
  expect(store.requests).toEqual([
    { method: 'POST', url, headers: json, body, ...sender },
    { method: 'GET', url: `${url}?limit=3`, headers: own, body: '', ...sender },
  ])
})

test('requests say whose token was sent, also one that has ended', async () => {
  const store = createFakePlantStore()
  const { safe } = createPlantStoreClient({ ...store, token: false })
  const ended = store.createToken({ account: 'bob', scopes: ['read'], expiresAt: new Date(0) })
  store.revokeToken(store.token)
  for (const token of [ended, 'pst_unknown', store.token]) await safe.createPlant(ficus, { token })
  const senders = [{ account: 'bob', scopes: ['read'] }, { account: undefined }, { account: 'default' }]
  expect(store.requests).toMatchObject(senders)
})

test('a fault can be that of an operation, and reset makes the store as new', async () => {
  const store = createFakePlantStore()
  const { safe } = createPlantStoreClient({ ...store, retries: 0 })
  const other = store.createToken()
  expect(other).toBe('fake-token-2')
  store.failNext({ error: 'internal' }, 2, 'createPlant')
  store.failNext({ error: 'unavailable' })
  const calls = [() => safe.getPlants(), () => safe.createPlant(ficus), () => safe.getPlants()]
  const statuses: unknown[] = []
  for (const call of calls) statuses.push((await call()).status)
  expect(statuses).toEqual([503, 500, 200])
  store.add([monstera])
  store.reset()
  expect([store.plants(), store.requests]).toEqual([[], []])
  expect(await safe.createPlant(ficus)).toMatchObject({ ok: true })
  expect(await safe.getPlants({}, { token: other })).toMatchObject({ error: { code: 40102 } })
})

test('a handler that forgets a field of its input does not compile', () => {
  type Forgetful = Handler<{ limit?: number; tag?: string }, null>
  // @ts-expect-error: `tag` is unused
  const forget: Forgetful = ({ limit: _, ...unused }) => ({ body: null, unused })
  expect(forget({ tag: 'fig' }, {} as never).unused).toEqual({ tag: 'fig' })
})

test('add adds plants to an account of this fake without a request, and rejects what the client or service would', async () => {
  const store = createFakePlantStore({ baseUrl: 'https://example.com/shop/' })
  store.add([monstera, { id: 1, name: 'Ficus' }])
  store.add([{ id: 1, name: 'Aloe' }], 'bob')
  ;(store.plants() as unknown[]).pop()
  expect([store.requests, store.plants(), store.plants('carol')]).toStrictEqual([[], [monstera, ficus], []])
  expect(await createPlantStoreClient(store).getPlants()).toMatchObject([{ tag: 'aroid' }, { name: 'Ficus' }])
  expect(store.requests[0]?.url).toBe('https://example.com/shop/plants')
  const invalid: [plant: object, message: string][] = [[{ id: 2 }, 'name: is required'], [{ id: 2, name: 5 }, 'name: must be a string'], [{ id: 1, name: 'Aloe' }, 'id: is taken']] // biome-ignore format: one line
  for (const [plant, message] of invalid) expect(() => store.add([plant as sdk.NewPlant])).toThrow(message)
  expect(store.plants()).toHaveLength(2)
})

const fake = createFakePlantStore()
test.each<[reason: string, () => unknown]>([
  ['baseURL: is not one of baseUrl', () => createFakePlantStore({ baseURL: 'http://a.b' } as object)],
  ['baseUrl: must be an HTTP URL', () => createFakePlantStore({ baseUrl: 'a.b' })],
  ['scope: is not one of account, ', () => fake.createToken({ scope: 'read' } as object)],
  ['findPlant: is not one of createPlant, ', () => fake.failNext({ delay: 0 }, 1, 'findPlant' as never)],
  ['body: is not one of error, ', () => fake.failNext({ error: 'internal', body: '' })],
  ['error: is not one of status, ', () => fake.failNext({ error: 'internal', status: 503 })],
  ['gone: is not one of ', () => fake.failNext({ error: 'gone' as 'internal' })],
  ['times: must be a positive number', () => fake.failNext({ delay: 0 }, Number.NaN)],
])('an option that is unknown is an error: %s', (reason, create) => expect(create).toThrow(reason))

test.each<[fault: Fault, error: object, stored: number]>([
  [{ error: 'scopeMissing' }, { status: 403, code: 40301 }, 0],
  [new TypeError('fetch failed'), { kind: 'connection' }, 0],
  [{ delay: 60_000 }, { kind: 'timeout' }, 1],
])('of a fault the store stores nothing, except of a late response: %o', async (fault, error, stored) => {
  const store = createFakePlantStore()
  const { safe } = createPlantStoreClient({ ...store, retries: 0, timeout: stored ? 100 : 20_000 })
  store.failNext(fault)
  expect((await safe.createPlant(ficus)).error).toMatchObject(error)
  expect(store.plants()).toHaveLength(stored)
  expect((await safe.createPlant(ficus)).ok).toBe(true)
})

/** What POST /plants stores. */
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTestServer, type TestServer } from '../../../test/helpers/server/start-test-server.ts'
import { listOf, newAccount } from '../helpers/plants/accounts.ts'

let server: TestServer
beforeAll(async () => {
  server = await startTestServer()
})
afterAll(() => server.close())

test('a NewPlant gets a 200 with the Plant, without its id', async () => {
  const token = await newAccount(server)
  const response = await server.post('{"id":1,"name":"Monstera","tag":"aroid"}', { token })
  expect(response.status).toBe(200)
  expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8')
  expect(await response.text()).toBe('{"name":"Monstera","tag":"aroid"}')
})

test('a plant without a tag has no key tag in the response and in the list', async () => {
  const token = await newAccount(server)
  expect(await (await server.post('{"id":1,"name":"Ficus"}', { token })).text()).toBe('{"name":"Ficus"}')
  expect(await (await server.call('/plants', { token })).text()).toBe('[{"name":"Ficus"}]')
})

test('an empty tag is a tag', async () => {
  const token = await newAccount(server)
  await server.post('{"id":1,"name":"","tag":""}', { token })
  expect(await listOf(server, token)).toEqual([{ name: '', tag: '' }])
})

test('unknown fields are ignored', async () => {
  const token = await newAccount(server)
  const response = await server.post('{"id":1,"name":"Ficus","seq":99,"account":"x","__proto__":{"tag":"y"}}', {
    token,
  })
  expect(await response.json()).toEqual({ name: 'Ficus' })
  expect(await listOf(server, token)).toEqual([{ name: 'Ficus' }])
})

test('the same plant again gets a 200 and adds nothing', async () => {
  const token = await newAccount(server)
  for (const id of ['100', '1e2', '100.0', '1000e-1']) {
    const response = await server.post(`{"id":${id},"name":"Ficus","tag":"t"}`, { token })
    expect([response.status, await response.json()]).toEqual([200, { name: 'Ficus', tag: 't' }])
  }
  for (const body of ['{"tag":"t","name":"Ficus","id":100}', '{"id":100,"name":"\\u0046icus","tag":"t","height":1}']) {
    const response = await server.post(body, { token })
    expect([response.status, await response.json()]).toEqual([200, { name: 'Ficus', tag: 't' }])
  }
  expect(await listOf(server, token)).toEqual([{ name: 'Ficus', tag: 't' }])
})

// Others respond 409. The contract says 400.
test.each(['{"id":1,"name":"Other","tag":"t"}', '{"id":1,"name":"Ficus"}', '{"id":1,"name":"Ficus","tag":""}'])(
  'the same id with other content (%s) gets a 400 (40003) and changes nothing',
  async (other) => {
    const token = await newAccount(server)
    await server.post('{"id":1,"name":"Ficus","tag":"t"}', { token })
    const response = await server.post(other, { token })
    expect(response.status).toBe(400)
    expect(await response.json()).toEqual({ error: 40003, message: expect.stringContaining('id:') })
    expect(await listOf(server, token)).toEqual([{ name: 'Ficus', tag: 't' }])
  },
)

test('ids up to the ends of int64 are exact, in each account', async () => {
  const ids = [
    ...['9007199254740991', '9007199254740992', '9007199254740993'],
    ...[`${2n ** 63n - 1n}`, `${-(2n ** 63n)}`],
  ]
  for (const token of [await newAccount(server), await newAccount(server)]) {
    for (const id of ids) {
      expect((await server.post(`{"id":${id},"name":"${id}"}`, { token })).status).toBe(200)
      expect((await server.post(`{"id":${id},"name":"other"}`, { token })).status).toBe(400)
    }
    expect(await listOf(server, token)).toEqual(ids.map((name) => ({ name })))
  }
})

test.each([
  ['9001.0', '9001'],
  ['91e2', '9100'],
  ['920000e-2', '9200'],
  ['-0', '0'],
])('the id %s is %s', async (written, id) => {
  const token = await newAccount(server)
  expect((await server.post(`{"id":${written},"name":"Ficus"}`, { token })).status).toBe(200)
  const response = await server.post(`{"id":${id},"name":"other"}`, { token })
  expect(await response.json()).toMatchObject({ error: 40003 })
})

test('of fifty concurrent plants with one id, all get a 200 if they are the same, else one', async () => {
  const token = await newAccount(server)
  const same = await Promise.all(Array.from({ length: 50 }, () => server.post('{"id":1,"name":"same"}', { token })))
  expect(new Set(same.map(({ status }) => status))).toEqual(new Set([200]))
  const names = Array.from({ length: 50 }, (_, index) => `name ${index}`)
  const different = await Promise.all(names.map((name) => server.post(JSON.stringify({ id: 2, name }), { token })))
  const stored = names.filter((_, index) => different[index]?.status === 200)
  expect(stored).toHaveLength(1)
  expect(await listOf(server, token)).toEqual([{ name: 'same' }, { name: stored[0] }])
})

test('new, duplicate, conflicting and invalid plants in one burst each get their own response', async () => {
  const token = await newAccount(server)
  await server.post('{"id":1,"name":"stored"}', { token })
  const burst: [body: string, status: number][] = Array.from({ length: 20 }, (_, round): [string, number][] => [
    [`{"id":${100 + round},"name":"new ${round}"}`, 200],
    ['{"id":1,"name":"stored"}', 200],
    ['{"id":1,"name":"conflicting"}', 400],
    ['{"id":"1","name":"invalid"}', 400],
  ]).flat()
  const statuses = await Promise.all(burst.map(async ([body]) => (await server.post(body, { token })).status))
  expect(statuses).toEqual(burst.map(([, status]) => status))
  const names = ((await listOf(server, token)) as { name: string }[]).map(({ name }) => name)
  expect(names.sort()).toEqual(['stored', ...Array.from({ length: 20 }, (_, round) => `new ${round}`)].sort())
})

test('every int64 is an id of its own, and no other integer is one', async () => {
  const token = await newAccount(server)
  const seen = new Map<bigint, string>()
  const edge = fc.constantFrom(0n, 2n ** 53n, -(2n ** 53n), 2n ** 63n - 1n, -(2n ** 63n))
  const near = fc.tuple(edge, fc.bigInt({ min: -3n, max: 3n })).map(([base, distance]) => base + distance)
  const int64 = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })
  await fc.assert(
    fc.asyncProperty(fc.oneof(near, int64), async (id) => {
      const name = `plant ${id}`
      const inRange = id >= -(2n ** 63n) && id <= 2n ** 63n - 1n
      expect((await server.post(`{"id":${id},"name":"${name}"}`, { token })).status).toBe(inRange ? 200 : 400)
      if (!inRange) return
      seen.set(id, name)
      expect((await server.post(`{"id":${id},"name":"other"}`, { token })).status).toBe(400)
    }),
    { numRuns: 150 },
  )
  expect(await listOf(server, token)).toEqual([...seen.values()].map((name) => ({ name })))
})

test('any Unicode text is listed code point for code point as it was sent', async () => {
  const token = await newAccount(server)
  const text = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 50 }),
    fc.string({ unit: 'grapheme', maxLength: 50 }),
    fc.constantFrom(
      '\u0001\u001f\u007f\u0085',
      '\u2028\u2029\ufeff\ufffe\uffff',
      '"\\/\b\f\n\r\t',
      '\u{10ffff}',
      'é',
      'e\u0301',
      '</script>',
      "'; DROP TABLE Plant; --",
    ),
  )
  const sent: { name: string; tag: string }[] = []
  await fc.assert(
    fc.asyncProperty(text, text, async (name, tag) => {
      fc.pre(!name.includes('\0') && !tag.includes('\0'))
      const response = await server.post(JSON.stringify({ id: sent.length, name, tag }), { token })
      expect(await response.json()).toEqual({ name, tag })
      sent.push({ name, tag })
    }),
    { numRuns: 150 },
  )
  expect(await listOf(server, token)).toEqual(sent)
})

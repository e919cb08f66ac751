/** Responses that are not the service's, or did not arrive intact, and what errors show of a response. */
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { inspect } from 'node:util'
import { describe, expect, test } from 'vitest'
import { createPlantStoreClient, MalformedResponseError, PlantStoreError } from '../../src/index.ts'
import { failureOf } from '../helpers/failure-of.ts'
import { type Handler, sendJson, startTinyServer } from '../helpers/tiny-server.ts'

function respond(status: number, contentType: string | undefined, body: string, headers: object = {}): Handler {
  const all = { ...(contentType && { 'content-type': contentType }), ...headers }
  return (response) => response.writeHead(status, all).end(body)
}

async function failureOn(handler: Handler): Promise<MalformedResponseError> {
  await using server = await startTinyServer(handler)
  const error = await failureOf(server.createClient({ retries: 0 }).getPlants(), MalformedResponseError)
  expect(error.kind).toBe('malformed-response')
  expect(error.message).toContain(`GET ${server.url}/plants: responded `)
  // A redirect is not followed.
  expect(server.requests).toHaveLength(1)
  return error
}

describe('a malformed response is a typed error that says what arrived', () => {
  const json = (status: number, text: string) => respond(status, 'application/json', text)
  test.each<[reason: string, status: number, title: string, Handler]>([
    ['text/html instead of JSON', 502, 'a proxy’s page', respond(502, 'text/html', '<h1>Bad Gateway</h1>')],
    ['no content type instead of JSON', 204, 'no content', respond(204, undefined, '')],
    ['no content type instead of JSON', 304, 'one to a condition that it had not', respond(304, undefined, '')],
    ['malformed JSON', 200, 'a truncated list', json(200, '[{"name":"Fi')],
    ['malformed JSON', 200, 'an object instead of a list', json(200, '{"name":"Ficus"}')],
    ['malformed JSON', 500, 'an error without a message', json(500, '{"error":50000}')],
    ['malformed JSON', 400, 'an error code that is text', json(400, '{"error":"4","message":""}')],
    ['a redirect to /plants, which', 301, 'a redirect', respond(301, '', '', { location: '/plants' })],
    [`a redirect to ${'x'.repeat(186)}…`, 302, 'a long redirect', respond(302, '', '', { location: 'x'.repeat(9000) })],
  ])('%s, status %d: %s', async (reason, status, _, handler) => {
    const error = await failureOn(handler)
    expect(error).toMatchObject({ status, attempts: 1 })
    expect(error.message).toContain(`with ${reason}`)
  })

  test('the head and the start of a page are in the error, of JSON only after a 5xx', async () => {
    const page = `<h1>Bad\n Gateway</h1> ${'x'.repeat(300)}`
    const headers = { 'x-request-id': 'abc', 'retry-after': '3', 'x-served-by': 'proxy' }
    const error = await failureOn(respond(502, 'text/html', page, headers))
    expect(error).toMatchObject({ status: 502, requestId: 'abc', retryAfterMs: 3000 })
    expect(error.headers.get('X-Served-By')).toBe('proxy')
    expect(error.text).toBe(page.replace('\n', '').slice(0, 200))
    expect(error.detail).toBe(`responded 502 with text/html instead of JSON: ${error.text}`)
    expect((await failureOn(json(400, '["private"]'))).message).not.toContain('private')
    for (const text of ['upstream error', '{"message":"Internal server error"}']) {
      expect((await failureOn(json(503, text))).text).toBe(text)
    }
  })
})

const sent = "https://plants.example/plants?cursor=it's"
test.each<[title: string, response: { redirected?: boolean; url?: string }, isRejected: boolean]>([
  ['to this path', { redirected: true, url: sent }, true],
  ['of a fetch without `redirected`, to another origin', { url: 'https://evil.example/plants' }, true],
  ['of such a fetch, to another path', { url: sent.replace('plants?', 'login?') }, true],
  ['of none: such a fetch escapes more', { url: sent.replace("'", '%27') }, false],
  ['of none: the fetch of the app chose another URL', { redirected: false, url: 'https://mirror.example/' }, false],
])('a redirect that fetch has followed is an error, which is not retried: %s', async (_, fields, isRejected) => {
  const [status, json] = [isRejected ? 503 : 200, async () => '[]']
  const fetch = async () => ({ status, headers: new Headers(), text: json, ...fields })
  const client = createPlantStoreClient({ baseUrl: 'https://plants.example', token: 'pst_test', fetch })
  const { error } = await client.safe.getPlants({ cursor: "it's" })
  const detail = `responded 0 with a redirect to ${fields.url}, which is not allowed`
  expect(error).toEqual(isRejected ? expect.objectContaining({ detail, attempts: 1, retryable: false }) : undefined)
})

describe('a response above maxResponseBytes is not read', () => {
  const tooLarge = { kind: 'malformed-response', retryable: false, attempts: 1 }

  test('an endless one is ended with its connection', async () => {
    let sent = 0
    let ended: Promise<void> | undefined
    async function* endless() {
      for (; ; sent += 1e5) yield '[{"name":"Ficus"}]'.padStart(1e5)
    }
    await using server = await startTinyServer((response) => {
      ended = pipeline(endless, response)
      return ended.catch(() => {})
    })
    const error = await failureOf(server.createClient({ maxResponseBytes: 1e7 }).getPlants(), MalformedResponseError)
    expect(error).toMatchObject({ ...tooLarge, status: 200 })
    expect(error.detail).toBe('responded 200 with more than 10000000 bytes; raise maxResponseBytes')
    await expect(ended).rejects.toThrow('Premature close')
    // With what the sockets hold.
    expect(sent).toBeLessThan(1e8)
  })

  test.each<[string, name: string, body: (bytes: Buffer) => unknown]>([
    ['without streams', 'Ficus', () => undefined],
    ['with streams of Node.js', 'Ficus', (bytes) => Readable.from([bytes.toString()])],
    [
      'whose chunks end in a character',
      '🌱é',
      (bytes) => ReadableStream.from([bytes.subarray(0, 11), bytes.subarray(11)]),
    ],
  ])('of a fetch %s', async (_, name, body) => {
    const bytes = Buffer.from(JSON.stringify([{ name }]))
    const fetch = async () => ({ status: 200, headers: new Headers(), body: body(bytes), text: async () => `${bytes}` })
    const client = createPlantStoreClient({ baseUrl: 'http://localhost', token: 'pst_test', fetch })
    const limits = [bytes.length, bytes.length - 1].map((maxResponseBytes) => ({ maxResponseBytes }))
    const [fits, cut] = await Promise.all(limits.map((limit) => client.safe.getPlants({}, limit)))
    expect([fits?.data, cut?.error]).toMatchObject([[{ name }], tooLarge])
  })
})

test.each([
  ['the token', { token: 'pst_very_secret' }, 'pst_very_secret'],
  ['the authorization header of the app', { token: false, headers: { Authorization: 'Basic c2VjcmV0' } }, 'c2VjcmV0'],
])('%s is not shown by the client, its hooks or its errors', async (_, options, secret) => {
  const shown: unknown[] = []
  const show = (...values: unknown[]) => void shown.push(...values.map((value) => inspect(value, { depth: 9 })))
  await using server = await startTinyServer((response) => sendJson(response, 400, { error: 40000, message: 'no' }))
  const hooks = { request: show, response: show, error: show }
  const client = server.createClient({ ...options, hooks } as object)
  const { error } = await client.safe.getPlants()
  show(client, error, JSON.stringify(error))
  expect(error).toBeInstanceOf(PlantStoreError)
  expect(server.requests[0]?.headers.authorization).toContain(secret)
  expect(shown.length).toBeGreaterThan(5)
  expect(shown.join('\n')).not.toContain(secret)
  expect(shown.join('\n')).not.toContain('authorization:')
})

/** The document declares the headers that responses really have. */
import { createOpenApiDocument } from '@plant-store/contract/openapi'
import { expect, test } from 'vitest'
import { startTestServer, type TestServer } from '../../../test/helpers/server/start-test-server.ts'

interface Header {
  required?: boolean
  schema: { type: 'string' | 'integer' }
}

const { paths } = createOpenApiDocument()

/** Headers that belong to the service, rather than to HTTP or to the security of browsers. */
const OWN = /^(?:link|ratelimit.*|retry-after|www-authenticate|x-request-id)$/

function declaredHeaders(method: string, status: number): Map<string, Header> {
  const { responses } = paths?.['/plants']?.[method === 'POST' ? 'post' : 'get'] ?? {}
  const headers: Record<string, Header> = responses?.[String(status) as '200']?.headers ?? {}
  return new Map(Object.entries(headers).map(([name, header]) => [name.toLowerCase(), header]))
}

function expectDeclaredHeaders(method: string, { status, headers }: Response): void {
  const declared = declaredHeaders(method, status)
  for (const [name, { required, schema }] of declared) {
    const value = headers.get(name)
    if (required) expect([status, name, value]).toEqual([status, name, expect.any(String)])
    if (value !== null && schema.type === 'integer')
      expect([name, value]).toEqual([name, expect.stringMatching(/^\d+$/)])
  }
  const own = [...headers.keys()].filter((name) => OWN.test(name))
  expect([status, own.filter((name) => !declared.has(name))]).toEqual([status, []])
}

const limits = {
  rateLimit: { requests: 8, seconds: 60 },
  authFailureLimit: { requests: 1, seconds: 60 },
  bodyLimit: 100,
}

/** Sends requests that are responded to with each status, in this order. */
async function* responses(server: TestServer): AsyncGenerator<[number, string, Response]> {
  const { token: reader } = await server.createToken({ scopes: ['read'] })
  yield [200, 'POST', await server.post('{"id":1,"name":"Ficus"}')]
  yield [200, 'POST', await server.post('{"id":2,"name":"Ficus"}')]
  yield [200, 'GET', await server.call('/plants?limit=1')]
  yield [400, 'GET', await server.call('/plants?limit=0')]
  yield [400, 'POST', await server.post('{')]
  yield [413, 'POST', await server.post(`{"id":1,"name":"${'a'.repeat(100)}"}`)]
  yield [415, 'POST', await server.post('{}', { headers: { 'content-type': 'text/plain' } })]
  yield [403, 'POST', await server.post('{}', { token: reader })]
  yield [401, 'GET', await server.call('/plants', { token: null })]
  yield [429, 'GET', await server.call('/plants', { token: null })]
  yield [200, 'GET', await server.call('/plants')]
  yield [429, 'GET', await server.call('/plants')]
  yield [431, 'GET', await server.call('/plants', { headers: { 'x-long': 'a'.repeat(64 * 1024) } })]
}

test('every response has the declared headers, and no other of its own', async () => {
  await using server = await startTestServer(limits)
  for await (const [status, method, response] of responses(server)) {
    expect([method, response.status]).toEqual([method, status])
    expectDeclaredHeaders(method, response)
  }
})

test('so has every response of a server without limits, and of one that sheds requests', async () => {
  await using server = await startTestServer({ authFailureLimit: undefined })
  expectDeclaredHeaders('GET', await server.call('/plants'))
  expectDeclaredHeaders('GET', await server.call('/plants', { token: null }))
  await using full = await startTestServer({ maxRequestsInFlight: 0 })
  const shed = await full.call('/plants')
  expect(shed.status).toBe(503)
  expectDeclaredHeaders('GET', shed)
})

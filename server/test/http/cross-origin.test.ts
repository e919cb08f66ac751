/** Which pages of other origins may call the service. */
import { contract } from '@plant-store/contract'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startTestServer, type TestServer } from '../../../test/helpers/server/start-test-server.ts'
import { get, NO_TOKEN, request } from '../helpers/wire/requests.ts'
import { accepts, rejects, responds } from '../helpers/wire/wire.ts'

const ORIGIN = 'https://app.example.com'
const corsOrigins = [ORIGIN, 'http://localhost:5173']
const preflight = {
  method: 'OPTIONS',
  token: null,
  headers: {
    origin: ORIGIN,
    'access-control-request-method': 'POST',
    'access-control-request-headers': 'authorization,content-type',
  },
}

describe('with CORS_ORIGINS', () => {
  test('a preflight gets a 204 without a token', async () => {
    await using server = await startTestServer({ corsOrigins })
    const { status, headers } = await server.call('/plants', preflight)
    expect(status).toBe(204)
    expect(headers.get('access-control-allow-origin')).toBe(ORIGIN)
    const methods = new Set(['HEAD', ...Object.values(contract).map(({ method }) => method)])
    expect(headers.get('access-control-allow-methods')).toBe([...methods].sort().join())
    expect(headers.get('access-control-allow-headers')).toContain('Authorization,Content-Type')
    expect(headers.get('access-control-max-age')).toBe('600')
    expect(headers.get('vary')).toBe('Origin')
    expect(headers.has('access-control-allow-credentials')).toBe(false)
  })

  test('the page can read responses and failures, with the headers that the SDK needs', async () => {
    await using server = await startTestServer({ corsOrigins })
    const list = await server.call('/plants', { headers: { origin: ORIGIN } })
    const rejected = await server.call('/plants', { token: null, headers: { origin: ORIGIN } })
    const unknown = await server.call('/nothing', { headers: { origin: ORIGIN } })
    expect([list.status, rejected.status, unknown.status]).toEqual([200, 401, 404])
    for (const { headers } of [list, rejected, unknown]) {
      expect(headers.get('access-control-allow-origin')).toBe(ORIGIN)
      expect(headers.get('access-control-expose-headers')).toContain('Link')
      expect(headers.get('access-control-expose-headers')).toContain('Retry-After')
      expect(headers.get('access-control-expose-headers')).toContain('X-Request-Id')
    }
  })

  test.each(['https://evil.example', 'null', 'https://app.example.com.evil.example', 'http://app.example.com'])(
    'the origin %s gets no CORS headers',
    async (origin) => {
      await using server = await startTestServer({ corsOrigins })
      const { headers } = await server.call('/plants', { ...preflight, headers: { ...preflight.headers, origin } })
      expect(headers.get('access-control-allow-origin')).toBeNull()
    },
  )
})

describe('without CORS_ORIGINS there are no CORS headers', () => {
  const NO_HEADERS = {
    'Access-Control-Allow-Origin': null,
    'Access-Control-Allow-Methods': null,
    'Access-Control-Allow-Headers': null,
    'Access-Control-Allow-Credentials': null,
  }
  const OTHER = { Origin: 'https://evil.example' }

  let server: TestServer
  beforeAll(async () => {
    server = await startTestServer()
  })
  afterAll(() => server.close())

  test('in the response to a preflight', () => {
    const headers = { ...NO_TOKEN, ...OTHER, 'Access-Control-Request-Method': 'POST' }
    return responds(server, request({ method: 'OPTIONS', headers }), { status: 204, headers: NO_HEADERS })
  })

  test('in a list', () => accepts(server, get('/plants', OTHER), { headers: NO_HEADERS }))
  test('in a failure', () => rejects(server, get('/nowhere', { Origin: 'null' }), 40400, { headers: NO_HEADERS }))
})

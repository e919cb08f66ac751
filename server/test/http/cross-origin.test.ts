import { describe, expect, test } from 'vitest'
import { startTestServer } from '../../../test/helpers/server/start-test-server.ts'

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
  test('a preflight is answered without a token', async () => {
    await using server = await startTestServer({ corsOrigins })
    const { status, headers } = await server.call('/plants', preflight)
    expect(status).toBe(204)
    expect(headers.get('access-control-allow-origin')).toBe(ORIGIN)
    expect(headers.get('access-control-allow-methods')).toBe('GET,HEAD,POST')
    expect(headers.get('access-control-allow-headers')).toContain('Authorization,Content-Type')
    expect(headers.get('access-control-max-age')).toBe('600')
    expect(headers.get('vary')).toBe('Origin')
    expect(headers.has('access-control-allow-credentials')).toBe(false)
  })

  test('answers and failures can be read by the page, with the headers that the SDK needs', async () => {
    await using server = await startTestServer({ corsOrigins })
    const list = await server.call('/plants', { headers: { origin: ORIGIN } })
    const refused = await server.call('/plants', { token: null, headers: { origin: ORIGIN } })
    const unknown = await server.call('/nothing', { headers: { origin: ORIGIN } })
    expect([list.status, refused.status, unknown.status]).toEqual([200, 401, 404])
    for (const { headers } of [list, refused, unknown]) {
      expect(headers.get('access-control-allow-origin')).toBe(ORIGIN)
      expect(headers.get('access-control-expose-headers')).toContain('Link')
      expect(headers.get('access-control-expose-headers')).toContain('Retry-After')
      expect(headers.get('access-control-expose-headers')).toContain('X-Request-Id')
    }
  })

  test.each(['https://evil.example', 'null', 'https://app.example.com.evil.example', 'http://app.example.com'])(
    'the origin %s is told nothing',
    async (origin) => {
      await using server = await startTestServer({ corsOrigins })
      const { headers } = await server.call('/plants', { ...preflight, headers: { ...preflight.headers, origin } })
      expect(headers.get('access-control-allow-origin')).toBeNull()
    },
  )
})

test('without CORS_ORIGINS no answer has a header of CORS', async () => {
  await using server = await startTestServer()
  const answers = [
    await server.call('/plants', preflight),
    await server.call('/plants', { headers: { origin: ORIGIN } }),
  ]
  for (const { headers } of answers) {
    expect([...headers.keys()].filter((name) => name.startsWith('access-control-'))).toEqual([])
  }
})

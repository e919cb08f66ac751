import { createOpenApiDocument } from '@plant-store/contract/openapi'
import { describe, expect, test } from 'vitest'
import { startTestServer, type TestServer } from '../../../test/helpers/server/start-test-server.ts'
import { exchange, readResponses } from '../helpers/wire/connection.ts'
import { request, withToken } from '../helpers/wire/requests.ts'

const PUBLIC_URL = 'https://plants.example.com/api'

const server = await startTestServer({ publicUrl: PUBLIC_URL })
const direct = await startTestServer()
const proxied = await startTestServer({ trustProxy: 1 })

function get(path: string, options: RequestInit = {}): Promise<Response> {
  return server.call(path, { token: null, ...options })
}

/** Returns the paths of the page and of everything that it loads. */
async function pathsOfPage(): Promise<string[]> {
  const paths = new Set(['/docs'])
  for (const path of paths) {
    const response = await get(path)
    expect([path, response.status]).toEqual([path, 200])
    const text = await response.text()
    if (path.endsWith('swagger-ui-bundle.js')) continue
    for (const [reference] of text.matchAll(/(?<=(?:href|src)="|from ')[^"']+/g)) {
      paths.add(new URL(reference, server.url + path).pathname)
    }
  }
  return [...paths]
}

test('GET /openapi.json responds with the document of the contract for PUBLIC_URL, without a token', async () => {
  const response = await get('/openapi.json')
  expect([response.status, response.headers.get('content-type')]).toEqual([200, 'application/json; charset=utf-8'])
  expect(await response.json()).toEqual(createOpenApiDocument({ serverUrl: PUBLIC_URL }))
})

describe('without PUBLIC_URL, GET /openapi.json names the origin that it was requested from', () => {
  /** Requests the document with these headers, and returns the URL of its server and the ETag. */
  async function requestDocument({ url, token }: TestServer, headers: Record<string, string>) {
    const wire = withToken(request({ method: 'GET', target: '/openapi.json', headers }), token)
    const [response] = readResponses(await exchange(url, wire))
    const { servers, ...document } = JSON.parse(response?.body ?? '')
    expect(document).toEqual({ ...createOpenApiDocument(), servers: undefined })
    return [servers.map((each: { url: string }) => each.url).join(), response?.headers.get('etag')] as const
  }

  const forwarded = {
    Host: 'plants:3000',
    'X-Forwarded-Proto': 'https',
    'X-Forwarded-Host': 'plants.example.com, proxy',
  }
  test.each<[trustProxy: number | undefined, headers: Record<string, string>, origin: string]>([
    [undefined, { Host: '[::1]:3000' }, 'http://[::1]:3000'],
    [undefined, forwarded, 'http://plants:3000'],
    [1, forwarded, 'https://plants.example.com'],
    [1, { Host: 'plants:3000' }, 'http://plants:3000'],
    [1, { ...forwarded, 'X-Forwarded-Proto': 'javascript' }, '/'],
    [1, { ...forwarded, 'X-Forwarded-Host': 'evil.com/api?' }, '/'],
    [undefined, { Host: '' }, '/'],
    [undefined, { Host: "a'(b)" }, '/'],
  ])('with TRUST_PROXY=%s, %o: %s', async (trustProxy, headers, origin) => {
    const [url] = await requestDocument(trustProxy === undefined ? direct : proxied, headers)
    expect(url).toBe(origin)
  })

  test('each with an ETag of its own, by which a cache revalidates it', async () => {
    const revalidate = async (Host: string, etag = '') => {
      const wire = request({ method: 'GET', target: '/openapi.json', headers: { Host, 'If-None-Match': etag } })
      return readResponses(await exchange(direct.url, withToken(wire, direct.token))).map(({ status }) => status)
    }
    const [, etag] = await requestDocument(direct, { Host: 'a.example.com' })
    expect([await revalidate('a.example.com', etag), await revalidate('b.example.com', etag)]).toEqual([[304], [200]])
  })
})

describe('GET /docs', () => {
  test('responds with a page that runs only scripts of this server, without a token', async () => {
    const response = await get('/docs')
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
    const policy = response.headers.get('content-security-policy')
    expect(policy).toContain("default-src 'none'; script-src 'self'; style-src 'self';")
    expect(policy).toContain("connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
    expect(policy).not.toMatch(/unsafe|http|\*/)
  })

  test('loads everything from this server, with the security headers of every response', async () => {
    const paths = await pathsOfPage()
    expect(paths).toContain('/docs/swagger-ui-bundle.js')
    expect(paths).toContain('/docs/page.js')
    for (const path of paths) {
      const response = await get(path)
      const { headers } = response
      if (path !== '/docs') expect(headers.get('content-security-policy')).toMatch(/^default-src 'none'; frame-anc/)
      expect(headers.get('x-content-type-options')).toBe('nosniff')
      expect(headers.get('x-request-id')).toBeTruthy()
      if (path.startsWith('/docs/swagger-ui')) continue
      const text = (await response.text()).replaceAll('http://www.w3.org/2000/svg', '').replaceAll(PUBLIC_URL, '')
      const loaded = text.replace(/\/\*.*?\*\//gs, '').replaceAll(/^ *\/\/.*$/gm, '')
      expect([path, loaded.match(/(?:https?:)?\/\/[\w.]+/g)]).toEqual([path, null])
    }
  })
})

test.each(['/openapi.json', '/docs', '/docs/swagger-ui.css'])(
  '%s is cached, revalidated, and read only',
  async (path) => {
    const [body, head] = [await get(path), await get(path, { method: 'HEAD' })]
    for (const name of ['content-type', 'content-length', 'etag', 'cache-control', 'content-security-policy']) {
      expect(head.headers.get(name)).toBe(body.headers.get(name))
    }
    expect([head.status, await head.text()]).toEqual([200, ''])
    expect(body.headers.get('cache-control')).toBe('no-cache')
    // Without the second header, `fetch` sends `no-cache`, like a browser for a hard reload.
    const revalidate = (etag: string | null) =>
      get(path, { headers: { 'if-none-match': String(etag), 'cache-control': 'max-age=0' } })
    expect((await revalidate(body.headers.get('etag'))).status).toBe(304)
    expect((await revalidate('"other"')).status).toBe(200)
    const posted = await get(path, { method: 'POST' })
    expect([posted.status, posted.headers.get('allow')]).toEqual([405, 'GET, HEAD, OPTIONS'])
  },
)

test('DOCS=off makes the paths unknown', async () => {
  await using closed = await startTestServer({ docs: false })
  for (const path of ['/docs', '/openapi.json', '/docs/swagger-ui-bundle.js']) {
    for (const method of ['GET', 'OPTIONS']) expect((await closed.call(path, { method, token: null })).status).toBe(404)
  }
  expect((await closed.call('/plants')).status).toBe(200)
})

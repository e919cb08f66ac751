import { extname } from 'node:path'
import { createOpenApiDocument } from '@plant-store/contract/openapi'
import { expect, test } from 'vitest'
import { root, runToSuccess } from '../../../test/helpers/programs.ts'
import { startTestServer } from '../../../test/helpers/server/start-test-server.ts'

const PUBLIC_URL = 'https://plants.example.com/api'

const server = await startTestServer({ publicUrl: PUBLIC_URL })

function get(path: string, options: RequestInit = {}): Promise<Response> {
  return server.call(path, { token: null, ...options })
}

test('GET /openapi.json responds with the document of the contract, for PUBLIC_URL if it is set, without a token', async () => {
  const response = await get('/openapi.json')
  expect([response.status, response.headers.get('content-type')]).toEqual([200, 'application/json; charset=utf-8'])
  expect(await response.json()).toEqual({ ...createOpenApiDocument(), servers: [{ url: PUBLIC_URL }] })
  await using direct = await startTestServer()
  expect(await (await direct.call('/openapi.json')).json()).toEqual(createOpenApiDocument())
})

const operations = Object.values(createOpenApiDocument().paths).flatMap((methods) => Object.values(methods))
const samples = operations.flatMap(({ operationId, 'x-codeSamples': own }) =>
  own.map((sample) => ({ operationId, ...sample })),
)

test.each(samples)('the sample of $operationId in $lang runs as it is', async ({ source }) => {
  const { token } = await server.createToken()
  const env = { ...process.env, PLANT_STORE_URL: server.url, PLANT_STORE_TOKEN: token }
  const flags = ['--conditions=@plant-store/source', '--input-type=module', '--eval']
  const command = source.startsWith('curl') ? ['sh', '-c', source] : [process.execPath, ...flags, source]
  // The package imports itself there.
  const printed = await runToSuccess(command, { env, cwd: `${root}client` })
  expect(printed).toContain('Monstera deliciosa')
})

test('GET /docs responds with a page that runs only scripts of this server', async () => {
  const policy = (await get('/docs')).headers.get('content-security-policy')
  expect(policy).toContain("default-src 'none'; script-src 'self'; style-src 'self';")
  expect(policy).toContain("connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
  expect(policy).not.toMatch(/unsafe|http|\*/)
})

test('GET /docs/ leads to the page, also behind a proxy that strips a prefix', async () => {
  const { status, headers } = await get('/docs/', { redirect: 'manual' })
  expect([status, headers.get('location')]).toEqual([308, '../docs'])
})

const MEDIA_TYPES: Record<string, string> = {
  '': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.svg': 'image/svg+xml',
}
test('GET /docs loads everything from this server without a token, with the security headers of every response', async () => {
  const paths = new Set(['/docs'])
  for (const path of paths) {
    const response = await get(path)
    const names = ['x-content-type-options', 'cache-control', 'content-type']
    const headers = names.map((name) => response.headers.get(name))
    expect([response.status, ...headers], path).toEqual([200, 'nosniff', 'no-cache', MEDIA_TYPES[extname(path)]])
    // Without the second header, `fetch` sends `no-cache`, like a browser for a hard reload.
    const known = { 'if-none-match': String(response.headers.get('etag')), 'cache-control': 'max-age=0' }
    expect((await get(path, { headers: known })).status, path).toBe(304)
    expect(response.headers.get('content-security-policy')).toMatch(/^default-src 'none'; .*frame-ancestors 'none'$/)
    if (/swagger-ui-bundle\.js$|\.json$/.test(path)) continue
    for (const [reference] of (await response.text()).matchAll(/(?<=(?:href|src)="|from ')[^"']+/g)) {
      const { origin, pathname } = new URL(reference, server.url + path)
      expect(origin, reference).toBe(server.url)
      paths.add(pathname)
    }
  }
  expect([...paths]).toEqual(expect.arrayContaining(['/docs/swagger-ui-bundle.js', '/docs/page.js']))
})

test('DOCS=off makes the paths unknown', async () => {
  await using closed = await startTestServer({ docs: false })
  for (const path of ['/docs', '/openapi.json', '/docs/swagger-ui-bundle.js']) {
    for (const method of ['GET', 'OPTIONS']) expect((await closed.call(path, { method, token: null })).status).toBe(404)
  }
})

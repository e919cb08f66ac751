/** What the contract may grow by, and the service does not have yet: parameters in paths, no content, and int64. */
import { initContract } from '@ts-rest/core'
import { expect, test } from 'vitest'
import { readBody } from '../../src/http/body.ts'
import { checkPath } from '../../src/http/paths-and-origins.ts'
import { serveApp } from '../helpers/wire/serve-app.ts'

const routes = [
  { method: 'GET', path: '/beds/:id' },
  { method: 'PATCH', path: '/beds/:id' },
  { method: 'POST', path: '/beds/removals' },
]
const url = await serveApp((app) => {
  app.use(checkPath(routes)).use(async (request, response) => {
    await readBody(Object.assign(request, { tsRestRoute: { body: initContract().noBody() } }) as never, response)
    response.json({ id: 2n ** 63n - 1n })
  })
})

// `removals` also fits `:id`.
test.each([
  ['/beds/1', 'GET, HEAD, OPTIONS, PATCH'],
  ['/beds/removals', 'OPTIONS, POST'],
])('%s allows %s and nothing else', async (path, allow) => {
  const others = ['GET', 'PATCH', 'POST', 'DELETE'].filter((method) => !allow.includes(method))
  for (const method of ['OPTIONS', ...others]) {
    const response = await fetch(url + path, { method })
    const status = method === 'OPTIONS' ? 204 : 405
    expect([method, response.status, response.headers.get('allow')]).toEqual([method, status, allow])
  }
})

test('an operation without content does not look at a body, and an int64 is sent exactly', async () => {
  const response = await fetch(`${url}/beds/removals`, { method: 'POST', body: 'no JSON' })
  expect([response.status, await response.text()]).toEqual([200, '{"id":9223372036854775807}'])
})

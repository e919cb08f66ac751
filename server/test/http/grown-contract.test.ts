/** The server's parts serve what the contract may grow by: parameters in paths, int64 and no content. */
import { Int64Schema, TextSchema } from '@plant-store/contract'
import { initContract } from '@ts-rest/core'
import { createExpressEndpoints, initServer } from '@ts-rest/express'
import { expect, test } from 'vitest'
import * as z from 'zod'
import { readBody } from '../../src/http/body.ts'
import { toValidationError } from '../../src/http/errors.ts'
import { checkPath } from '../../src/http/paths-and-origins.ts'
import { serveApp } from '../helpers/wire/serve-app.ts'

const c = initContract()
const pathParams = z.object({ id: z.string().regex(/^\d+$/, { error: 'must be an integer' }) })
const body = z.object({ tags: z.array(TextSchema) })
const grown = c.router({
  getBed: { method: 'GET', path: '/beds/:id', pathParams, responses: { 200: z.object({ id: Int64Schema }) } },
  changeBed: { method: 'PATCH', path: '/beds/:id', pathParams, body, responses: { 204: c.noBody() } },
  removeBeds: { method: 'POST', path: '/beds/removals', body: c.noBody(), responses: { 204: c.noBody() } },
})
const router = initServer().router(grown, {
  getBed: async ({ params: { id } }) => ({ status: 200, body: { id: BigInt(id) } }),
  changeBed: async () => ({ status: 204, body: undefined }),
  removeBeds: async () => ({ status: 204, body: undefined }),
})
const url = await serveApp((app) => {
  app.use(checkPath(Object.values(grown)))
  createExpressEndpoints(grown, router, app, {
    logInitialization: false,
    globalMiddleware: [(request, response, next) => void readBody(request as never, response).then(() => next(), next)],
    requestValidationErrorHandler: (error) => {
      throw toValidationError(error)
    },
  })
})

const TOO_MANY = `${[0, 1, 2].map((index) => `tags.${index}: must be a string`).join('; ')}; and 2 more`

test.each<[method: string, path: string, body: string | null, status: number, text: string]>([
  ['GET', '/beds/9007199254740993', null, 200, '{"id":9007199254740993}'],
  ['POST', '/beds/removals', 'text that is not read', 204, ''],
  ['GET', '/beds/abc', null, 404, '{"error":40400,"message":"id: must be an integer"}'],
  ['PATCH', '/beds/1', '{"tags":[1,2,3,4,5]}', 400, `{"error":40002,"message":"${TOO_MANY}"}`],
])('%s %s with the body %s responds %i', async (method, path, body, status, text) => {
  const headers = { 'content-type': method === 'PATCH' ? 'application/json' : 'text/plain' }
  const response = await fetch(url + path, { method, headers, body })
  expect([response.status, await response.text()]).toEqual([status, text])
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

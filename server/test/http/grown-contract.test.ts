/** The server's parts serve what the contract may grow by: parameters in paths and headers, int64 and no content. */
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { errorCatalogue, Int64Schema, TextSchema } from '@plant-store/contract'
import { initContract } from '@ts-rest/core'
import { createExpressEndpoints, initServer } from '@ts-rest/express'
import express from 'express'
import pino from 'pino'
import { expect, test } from 'vitest'
import * as z from 'zod'
import { afterFile } from '../../../test/helpers/after-file.ts'
import { readBody } from '../../src/http/body.ts'
import { errorHandler, toValidationError } from '../../src/http/errors.ts'
import { checkPath } from '../../src/http/paths-and-origins.ts'
import { extendResponses } from '../../src/http/responses.ts'

const c = initContract()
const pathParams = z.object({ id: z.string().regex(/^-?\d+$/, { error: 'must be an integer' }) })
const BedChange = z.object({
  tag: TextSchema.optional(),
  tags: z.array(TextSchema).default([]),
})
const grown = c.router({
  getBed: {
    method: 'GET',
    path: '/beds/:id',
    pathParams,
    headers: { 'x-size': z.string().regex(/^\d+$/, { error: 'must be a number' }).optional() },
    query: z
      .object({ tag: z.string('must be a string').optional() })
      .refine(({ tag }) => tag !== 'all', { error: 'must name a tag' }),
    responses: { 200: z.object({ id: Int64Schema, name: z.string() }) },
  },
  changeBed: { method: 'PATCH', path: '/beds/:id', pathParams, body: BedChange, responses: { 204: c.noBody() } },
  emptyBed: { method: 'POST', path: '/beds/:id/empty', pathParams, body: c.noBody(), responses: { 204: c.noBody() } },
  removeBeds: { method: 'POST', path: '/beds/removals', body: z.object({}), responses: { 204: c.noBody() } },
})

const router = initServer().router(grown, {
  getBed: async ({ params: { id } }) => ({ status: 200, body: { id: BigInt(id), name: '"ü"' } }),
  changeBed: async () => ({ status: 204, body: undefined }),
  emptyBed: async () => ({ status: 204, body: undefined }),
  removeBeds: async () => ({ status: 204, body: undefined }),
})

const app = express()
extendResponses(app)
app.use((request, _response, next) => {
  request.requestId = 'a-1'
  next()
})
app.use(checkPath(Object.values(grown)))
createExpressEndpoints(grown, router, app, {
  logInitialization: false,
  globalMiddleware: [
    (request, response, next) => {
      readBody(request as never, response).then(() => next(), next)
    },
  ],
  requestValidationErrorHandler: (error) => {
    throw toValidationError(error)
  },
})
app.use(errorHandler(pino({ level: 'silent' })))

const listening = app.listen(0, '127.0.0.1')
afterFile(() => listening.close())
await once(listening, 'listening')
const url = `http://127.0.0.1:${(listening.address() as AddressInfo).port}`

const failure = (error: number, message: string) => JSON.stringify({ error, message })
const NOT_FOUND = failure(40400, errorCatalogue.notFound.reason)

type Row = [what: string, method: string, path: string, headers: Record<string, string>, status: number, text: string]
test.each<Row>([
  ['an int64 is sent exactly', 'GET', '/beds/9007199254740993', {}, 200, '{"id":9007199254740993,"name":"\\"ü\\""}'],
  ['an operation without content sends none', 'POST', '/beds/1/empty', {}, 204, ''],
  ['an operation without content reads none', 'POST', '/beds/1/empty', { 'content-type': 'text/plain' }, 204, ''],
  ['an invalid path parameter', 'GET', '/beds/abc', {}, 404, failure(40400, 'id: must be an integer')],
  ['an invalid header', 'GET', '/beds/1', { 'x-size': 'big' }, 400, failure(40000, 'x-size: must be a number')],
  ['an invalid parameter', 'GET', '/beds/1?tag=a&tag=b', {}, 400, failure(40004, 'tag: must be a string')],
  ['an invalid query', 'GET', '/beds/1?tag=all', {}, 400, failure(40004, 'The query must name a tag')],
  ['a path that is not UTF-8', 'GET', '/beds/%ff', {}, 404, NOT_FOUND],
])('%s', async (_what, method, path, headers, status, text) => {
  const response = await fetch(`${url}${path}`, { method, headers })
  expect([response.status, await response.text()]).toEqual([status, text])
  expect(response.headers.has('content-type')).toBe(status !== 204)
})

// Every path of the same shape: `removals` also fits `:id`.
test.each([
  ['/beds/1', 'GET, HEAD, OPTIONS, PATCH'],
  ['/beds/1/empty', 'OPTIONS, POST'],
  ['/beds/removals', 'OPTIONS, POST'],
])('%s allows %s and nothing else', async (path, allow) => {
  const others = ['GET', 'PATCH', 'POST', 'DELETE', 'PUT'].filter((method) => !allow.includes(method))
  for (const method of others) {
    const response = await fetch(`${url}${path}`, { method })
    expect([method, response.status, response.headers.get('allow')]).toEqual([method, 405, allow])
  }
  const response = await fetch(`${url}${path}`, { method: 'OPTIONS' })
  expect([response.status, response.headers.get('allow')]).toEqual([204, allow])
})

test.each<[change: unknown, message: string]>([
  [{ tag: 5 }, 'tag: must be a string'],
  [{ tag: '\0' }, 'tag: must not contain U+0000 or a lone surrogate'],
  [{ tags: ['a', 5] }, 'tags.1: must be a string'],
  [{ tags: [1, 2, 3, 4, 5] }, `${[0, 1, 2].map((index) => `tags.${index}: must be a string`).join('; ')}; and 2 more`],
])('%j is rejected with what is wrong in it', async (change, message) => {
  const headers = { 'content-type': 'application/json' }
  const response = await fetch(`${url}/beds/1`, { method: 'PATCH', headers, body: JSON.stringify(change) })
  expect([response.status, await response.text()]).toEqual([400, failure(40002, message)])
})

/** The server's parts serve what the contract may grow by: parameters in paths and headers, int64 and no content. */
import { Int64Schema } from '@plant-store/contract'
import { initContract } from '@ts-rest/core'
import { createExpressEndpoints, initServer } from '@ts-rest/express'
import express from 'express'
import pino from 'pino'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import * as z from 'zod'
import { rejectOthers } from '../../src/http/request/known-paths.ts'
import { readBody } from '../../src/http/request/read-body.ts'
import { errorHandler, toValidationFailure } from '../../src/http/response/failures.ts'
import { overrideJson } from '../../src/http/response/send-json.ts'
import { createFairShare, SCARCE } from '../../src/limits/fair-share.ts'

const c = initContract()
const pathParams = z.object({ id: z.string().regex(/^-?\d+$/, { error: 'must be an integer' }) })
const grown = c.router({
  getBed: {
    method: 'GET',
    path: '/beds/:id',
    pathParams,
    headers: { 'x-size': z.string().regex(/^\d+$/, { error: 'must be a number' }).optional() },
    query: z.object({ tag: z.string().optional() }).refine(({ tag }) => tag !== 'all', { error: 'must name a tag' }),
    responses: { 200: z.object({ id: Int64Schema, name: z.string() }) },
  },
  emptyBed: { method: 'POST', path: '/beds/:id/empty', pathParams, body: c.noBody(), responses: { 204: c.noBody() } },
})

const router = initServer().router(grown, {
  getBed: async ({ params: { id } }) => ({ status: 200, body: { id: BigInt(id), name: '"ü"' } }),
  emptyBed: async () => ({ status: 204, body: undefined }),
})

const app = express()
overrideJson(app)
const read = readBody(1_000, createFairShare(1_000, SCARCE))
createExpressEndpoints(grown, router, app, {
  logInitialization: false,
  globalMiddleware: [
    (request, response, next) => {
      read(request as never, response).then(() => next(), next)
    },
  ],
  requestValidationErrorHandler: (error) => {
    throw toValidationFailure(error)
  },
})
rejectOthers(app, Object.values(grown))
app.use(errorHandler(pino({ level: 'silent' }), () => undefined))

let url: string
let close: () => void
beforeAll(async () => {
  const server = app.listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  url = `http://127.0.0.1:${(server.address() as { port: number }).port}`
  close = () => server.close()
})
afterAll(() => close())

async function call(path: string, init: RequestInit = {}) {
  const response = await fetch(`${url}${path}`, init)
  return { status: response.status, headers: response.headers, text: await response.text() }
}

describe('an int64 in a response', () => {
  test.each(['9007199254740993', '-9223372036854775808', '0'])('is sent exactly: %s', async (id) => {
    expect(await call(`/beds/${id}`)).toMatchObject({ status: 200, text: `{"id":${id},"name":"\\"ü\\""}` })
  })
})

describe('an operation without content', () => {
  test.each([{}, { 'content-type': 'text/plain' }])('reads no body and sends none: %o', async (headers) => {
    const response = await call('/beds/1/empty', { method: 'POST', headers })
    expect(response).toMatchObject({ status: 204, text: '' })
    expect(response.headers.has('content-type')).toBe(false)
  })
})

describe('a failure names', () => {
  test.each([
    ['an invalid path parameter', '/beds/abc', {}, 40400, 'id: must be an integer'],
    ['an invalid header', '/beds/1', { 'x-size': 'big' }, 40000, 'x-size: must be a number'],
    ['an invalid parameter of the query', '/beds/1?tag=a&tag=b', {}, 40004, expect.stringMatching(/^tag: /)],
    ['the query as a whole', '/beds/1?tag=all', {}, 40004, 'The query must name a tag'],
  ])('%s', async (_, path, headers, error, message) => {
    expect(JSON.parse((await call(path, { headers })).text)).toEqual({ error, message })
  })

  test.each(['GET', 'PUT', 'OPTIONS'])('%s of a path parameter that is not UTF-8 gets a 404', async (method) => {
    for (const id of ['%', '%zz', '%ff']) {
      expect(JSON.parse((await call(`/beds/${id}`, { method })).text)).toMatchObject({ error: 40400 })
    }
  })
})

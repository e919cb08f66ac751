/** What a client sees of a list of which a piece cannot be read, and what is left of one whose client has gone. */
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { StorageError } from '@plant-store/prisma'
import express, { type Response } from 'express'
import { pino } from 'pino'
import { expect, onTestFinished, test } from 'vitest'
import { until } from '../../../test/helpers/until.ts'
import { errorHandler } from '../../src/http/errors.ts'
import { createRequestsInFlight } from '../../src/http/requests-in-flight.ts'
import { extendResponses, type JsonChunks, serializedJson } from '../../src/http/responses.ts'
import { openSocket } from '../helpers/wire/connection.ts'
import { get, KEEP_ALIVE } from '../helpers/wire/requests.ts'

async function* failAfter(...pieces: string[]): JsonChunks {
  yield* pieces
  throw new StorageError('The database is locked', { fault: 'locked', retryAfter: 1 })
}

/** Starts an app that responds with a list, and returns its URL and its requests in flight. */
async function serveList(list: (response: Response) => JsonChunks) {
  const requestsInFlight = createRequestsInFlight({ maxRequestsInFlight: 10, trustProxy: undefined })
  const app = express()
  extendResponses(app)
  app.use((request, response) => {
    request.requestId = 'a-1'
    requestsInFlight.add(request, response)
    requestsInFlight.countForAddress(request)
    response.json(serializedJson(list(response)))
  })
  app.use(errorHandler(pino({ level: 'silent' })))
  const server = app.listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, count: requestsInFlight.count }
}

test('a list whose first piece cannot be read is a 503', async () => {
  const response = await fetch((await serveList(() => failAfter())).url)
  expect([response.status, response.headers.get('retry-after')]).toEqual([503, '1'])
  expect(await response.json()).toEqual({ error: 50300, message: 'The database is busy. Retry the request.' })
})

test('a list that fails midway, even at once, is a response that breaks off', async () => {
  for (const pieces of [['[1'], ['[1', ',2']]) {
    const response = await fetch((await serveList(() => failAfter(...pieces))).url)
    expect(response.status).toBe(200)
    await expect(response.text()).rejects.toThrow('terminated')
  }
})

test('a list whose client disconnects before a first piece is read is not in flight afterwards', async () => {
  const { url, count } = await serveList(async function* readOnceClosed(response) {
    await once(response, 'close')
    yield '[]'
    return undefined
  })
  const socket = await openSocket(url)
  socket.write(get('/', KEEP_ALIVE).repeat(2))
  await until(() => count() === 2, 5_000)
  socket.resetAndDestroy()
  await until(() => count() === 0, 5_000)
})

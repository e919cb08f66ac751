/** What a client sees of a list of which a piece cannot be read, and what is left of one whose client has gone. */
import { once } from 'node:events'
import { StorageError } from '@plant-store/prisma'
import type { Response } from 'express'
import { expect, test } from 'vitest'
import { until } from '../../../test/helpers/programs.ts'
import { createRequestsInFlight } from '../../src/http/requests-in-flight.ts'
import { type JsonPieces, serializedJson } from '../../src/http/responses.ts'
import { openSocket } from '../helpers/wire/connection.ts'
import { get, KEEP_ALIVE } from '../helpers/wire/requests.ts'
import { serveApp } from '../helpers/wire/serve-app.ts'

function failAfter(...pieces: string[]): JsonPieces {
  const rest = pieces.map((piece) => Buffer.from(piece))
  return async () => {
    const piece = rest.shift()
    if (piece) return piece
    throw new StorageError('The database is locked', { fault: 'locked', retryAfter: 1 })
  }
}

const requestsInFlight = createRequestsInFlight({ maxRequestsInFlight: 10, trustProxy: undefined })

/** Starts an app that responds with a list, and returns its URL. */
function serveList(list: (response: Response) => JsonPieces): Promise<string> {
  return serveApp((app) =>
    app.use((request, response) => {
      requestsInFlight.add(request, response)
      requestsInFlight.countForAddress(request)
      response.json(serializedJson(list(response)))
    }),
  )
}

test('a list whose first piece cannot be read is a 503', async () => {
  const response = await fetch(await serveList(() => failAfter()))
  expect([response.status, response.headers.get('retry-after')]).toEqual([503, '1'])
  expect(await response.json()).toEqual({ error: 50300, message: 'The database is busy. Retry the request.' })
})

test('a list that fails after its first piece, or midway, breaks the connection', async () => {
  for (const pieces of [['[1'], ['[1', ',2']]) {
    const response = await fetch(await serveList(() => failAfter(...pieces)))
    expect(response.status).toBe(200)
    await expect(response.text()).rejects.toThrow('terminated')
  }
})

test('a list whose client disconnects before a first piece is read is not in flight afterwards', async () => {
  const url = await serveList((response) => async () => {
    await once(response, 'close')
    return Buffer.from('[]')
  })
  const socket = await openSocket(url)
  socket.write(get('/', KEEP_ALIVE).repeat(2))
  await until(() => requestsInFlight.count() === 2, 5_000)
  socket.resetAndDestroy()
  await until(() => requestsInFlight.count() === 0, 5_000)
})

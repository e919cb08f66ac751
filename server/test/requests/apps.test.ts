/** Apps of parts of the service: lists of which a piece cannot be read, and what the contract may grow by. */
import { setTimeout as sleep } from 'node:timers/promises'
import { StorageError } from '@plant-store/prisma'
import { initContract } from '@ts-rest/core'
import type { Response } from 'express'
import { expect, onTestFinished, test, vi } from 'vitest'
import { until } from '../../../test/helpers/programs.ts'
import { createRequestsInFlight } from '../../src/connections/places.ts'
import { readBody } from '../../src/requests/body.ts'
import { createHeadCheck } from '../../src/requests/head.ts'
import { asBody, type NextPiece } from '../../src/requests/responses.ts'
import { openSocket, readAll } from '../helpers/connection.ts'
import { postHead } from '../helpers/requests.ts'
import { serveApp } from '../helpers/serve-app.ts'

function failAfter(...pieces: string[]): NextPiece {
  const [first, ...others] = pieces
  return async () => {
    if (first !== undefined) return { json: Buffer.from(first), next: failAfter(...others) }
    throw new StorageError('The database is locked', { fault: 'locked', retryAfter: 1 })
  }
}

/** Starts an app that responds with a list, and returns its URL. */
function serveList(list: (response: Response) => NextPiece): Promise<string> {
  return serveApp((app) => app.use((_request, response) => void response.json(asBody(list(response)))))
}

test('a list whose first piece cannot be read is a 503, which is not cached and no page', async () => {
  const url = await serveList((response) => {
    Object.assign(response.req.context, { etag: '"list"', link: '<?cursor=a>; rel="end"' })
    return failAfter()
  })
  const response = await fetch(url)
  expect(Object.fromEntries(response.headers)).toMatchObject({ 'retry-after': '1', 'cache-control': 'no-store' })
  expect([response.status, response.headers.get('etag'), response.headers.get('link')]).toEqual([503, null, null])
  expect(await response.json()).toEqual({ error: 50300, message: 'The database is busy. Retry the request.' })
})

test('a list that fails after its first piece, or midway, breaks the connection', async () => {
  for (const pieces of [['[1'], ['[1', ',2']]) {
    const response = await fetch(await serveList(() => failAfter(...pieces)))
    expect(response.status).toBe(200)
    await expect(response.text()).rejects.toThrow('terminated')
  }
})

test('a request whose client disconnects before its body has arrived is not in flight afterwards', async () => {
  // Nothing looks for it.
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  onTestFinished(() => void vi.useRealTimers())
  const requestsInFlight = createRequestsInFlight({ maxRequestsInFlight: 10, trustProxy: undefined })
  const url = await serveApp((app) =>
    app.use(async (request, response) => {
      requestsInFlight.add(request, response)
      await readBody(Object.assign(request, { tsRestRoute: { body: {} } }) as never, response)
    }),
  )
  const socket = await openSocket(url)
  socket.write('POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n1')
  await until(() => requestsInFlight.count() === 1, 5_000)
  socket.resetAndDestroy()
  await until(() => requestsInFlight.count() === 0, 5_000)
})

test('a client that sends on after the response can read it', async () => {
  // The connection lingers until the client ends it.
  vi.useFakeTimers({ toFake: ['setTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const { promise: sent, resolve } = Promise.withResolvers<void>()
  const url = await serveApp((app) => app.use((_request, response) => response.once('finish', resolve).json('early')))
  const socket = await openSocket(url)
  socket.pause().write(postHead({ 'Content-Length': '1000000' }))
  await sent
  for (let count = 0; count < 3; count++) {
    socket.write('{')
    await sleep(20)
  }
  expect(await readAll(socket)).toMatch(/"early"$/)
})

const routes = [
  { method: 'GET', path: '/beds/:id' },
  { method: 'DELETE', path: '/beds/:bed' },
  { method: 'POST', path: '/beds/removals' },
]
const url = await serveApp((app) => {
  app.use(createHeadCheck(routes)).use(async (request, response) => {
    await readBody(Object.assign(request, { tsRestRoute: { body: initContract().noBody() } }) as never, response)
    response.json({ id: 2n ** 63n - 1n })
  })
})

// `removals` also fits `:id`.
test.each([
  ['/beds/1', 'DELETE, GET, HEAD, OPTIONS'],
  ['/beds/removals', 'OPTIONS, POST'],
])('%s allows %s and nothing else', async (path, allow) => {
  const others = ['GET', 'POST', 'DELETE', 'PUT'].filter((method) => !allow.includes(method))
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

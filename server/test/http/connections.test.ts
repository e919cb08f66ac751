/** Random connections to a server without a database: pipelined and half requests, half-closes, resets, no reading. */
import { connect, type Socket } from 'node:net'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import express, { type RequestHandler } from 'express'
import fc from 'fast-check'
import { expect, onTestFinished, test } from 'vitest'
import { until } from '../../../test/helpers/until.ts'
import { createHttpServer } from '../../src/http/listen/http-server.ts'
import { listen, stop } from '../../src/http/listen/ports.ts'
import { receiveRequest } from '../../src/http/request/receive-request.ts'
import { createLoadShedding } from '../../src/limits/load-shedding.ts'
import { requestEnded, subscribe } from '../../src/telemetry/events.ts'

type Step = { kind: 'write'; text: string } | { kind: 'pause' | 'resume' | 'end' | 'reset' | 'destroy' | 'wait' }

const LONG_BODY = Buffer.alloc(2 ** 20, 'x')
/** The longest pause of a client or the server, in milliseconds. */
const MAX_PAUSE = 5

const responses: Record<string, RequestHandler> = {
  '/short': (_request, response) => void response.end('short'),
  '/late': (_request, response) => void setTimeout(() => response.end('late'), Math.random() * MAX_PAUSE),
  '/long': (_request, response) => void response.end(LONG_BODY),
  '/pieces': (_request, response) =>
    void pipeline(Readable.from([LONG_BODY, LONG_BODY, LONG_BODY]), response).catch(() => response.destroy()),
  '/body': (request, response) =>
    void request
      .on('error', () => {})
      .resume()
      .on('end', () => response.end('read')),
  '/nothing': (_request, response) => void response.status(404).end(),
}

const requests = [
  ...['/short', '/late', '/long', '/pieces', '/nothing'].map((path) => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`),
  'GET /short HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n',
  'POST /body HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nbody',
  'POST /body HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n',
  'POST /body HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nhalf',
  'POST /body HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\nbody',
  'GET /late HTTP/1.1\r\nHo',
  'CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n',
  'nonsense\r\n\r\n',
]
const text = fc.array(fc.constantFrom(...requests), { minLength: 1, maxLength: 60 }).map((parts) => parts.join(''))
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 3, arbitrary: text.map((written): Step => ({ kind: 'write', text: written })) },
  fc.constantFrom(...(['pause', 'resume', 'end', 'reset', 'destroy', 'wait'] as const).map((kind): Step => ({ kind }))),
)

async function act(socket: Socket, action: Step): Promise<void> {
  if (action.kind === 'write') socket.write(action.text)
  else if (action.kind === 'wait') await sleep(Math.random() * MAX_PAUSE)
  else if (action.kind === 'reset') socket.resetAndDestroy()
  else socket[action.kind]()
}

test('every request ends once, and nothing stays in flight, also on broken connections', {
  timeout: 60_000,
}, async () => {
  const count = { started: 0, ended: 0, sockets: 0 }
  onTestFinished(subscribe(requestEnded, () => void count.ended++))
  const loadShedding = createLoadShedding({ maxRequestsInFlight: 1_000, trustProxy: undefined })
  const app = express()
  app.use((request, response, next) => {
    receiveRequest(request, response)
    count.started++
    loadShedding.shedByAddress(request)
    next()
  })
  for (const [path, respond] of Object.entries(responses)) app.use(path, respond)

  const timeouts = { headersTimeout: 60_000, requestTimeout: 60_000, keepAliveTimeout: 60_000 }
  // The last one closes connections that a client neither reads nor resets.
  const { server, use } = createHttpServer({ maxConnections: 1_000, ...timeouts, stallTimeout: 2_000 })
  onTestFinished(() => stop(server, 0))
  server.on('connection', (socket) => {
    count.sockets++
    socket.on('close', () => count.sockets--)
  })
  use(app, loadShedding.release)
  const { hostname, port } = new URL(await listen(server, { host: '127.0.0.1', port: 0 }))

  /** Plays the steps of a connection, and then closes it. */
  async function converse(steps: Step[]): Promise<void> {
    const socket = connect(Number(port), hostname).on('error', () => {})
    for (const action of steps) if (!socket.destroyed && socket.writable) await act(socket, action)
    await sleep(MAX_PAUSE)
    socket.destroy()
  }

  const connections = fc.array(fc.array(step, { maxLength: 8 }), { minLength: 1, maxLength: 10 })
  await fc.assert(
    fc.asyncProperty(connections, async (all) => {
      await Promise.all(all.map(converse))
      await until(() => count.sockets === 0 && count.ended === count.started && loadShedding.inFlight() === 0, 20_000)
    }),
    { numRuns: 60, endOnFailure: true },
  )
  expect(count.started).toBeGreaterThan(100)
})

/**
 * Lets random connections use a server without a database (pipelined requests, half requests, half-closes, resets, no
 * reading) and prints how many requests started and ended. It runs on any version of Node.js.
 */
import { connect, type Socket } from 'node:net'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import express, { type RequestHandler } from 'express'
import fc from 'fast-check'
import { createHttpServer } from '../../../src/http/listen/http-server.ts'
import { listen } from '../../../src/http/listen/ports.ts'
import { receiveRequest } from '../../../src/http/request/receive-request.ts'
import { createLoadShedding } from '../../../src/limits/load-shedding.ts'
import { requestEnded } from '../../../src/telemetry/events.ts'

type Step = { kind: 'write'; text: string } | { kind: 'pause' | 'resume' | 'end' | 'reset' | 'destroy' | 'wait' }

const LONG_BODY = Buffer.alloc(2 ** 20, 'x')
const MILLISECONDS = { settle: 20_000, poll: 20, most: 5 }

const loadShedding = createLoadShedding({ maxRequestsInFlight: 1_000, trustProxy: undefined })
let started = 0
let ended = 0
let sockets = 0
requestEnded.subscribe(() => {
  ended++
})

const responses: Record<string, RequestHandler> = {
  '/short': (_request, response) => void response.end('short'),
  '/late': (_request, response) => void setTimeout(() => response.end('late'), Math.random() * MILLISECONDS.most),
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
const app = express()
app.use((request, response, next) => {
  receiveRequest(request, response)
  started++
  next()
})
app.use((request, _response, next) => {
  loadShedding.shedByAddress(request)
  next()
})
for (const [path, respond] of Object.entries(responses)) app.use(path, respond)

const minute = 60_000
const timeouts = { headersTimeout: minute, requestTimeout: minute, keepAliveTimeout: minute }
// The last one closes connections that a client neither reads nor resets.
const { server, use } = createHttpServer({ maxConnections: 1_000, ...timeouts, stallTimeout: 2_000 })
server.on('connection', (socket) => {
  sockets++
  socket.on('close', () => {
    sockets--
  })
})
use(app, loadShedding.release)
const url = new URL(await listen(server, { host: '127.0.0.1', port: 0 }))

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
  else if (action.kind === 'wait') await sleep(Math.random() * MILLISECONDS.most)
  else if (action.kind === 'reset') socket.resetAndDestroy()
  else socket[action.kind]()
}

/** Plays the steps of a connection, and then closes it. */
async function converse(steps: Step[]): Promise<void> {
  const socket = connect(Number(url.port), url.hostname).on('error', () => {})
  for (const action of steps) if (!socket.destroyed && socket.writable) await act(socket, action)
  await sleep(MILLISECONDS.most)
  socket.destroy()
}

const isSettled = (): boolean => sockets === 0 && ended === started && loadShedding.inFlight() === 0
async function settle(): Promise<boolean> {
  const end = Date.now() + MILLISECONDS.settle
  while (!isSettled() && Date.now() < end) await sleep(MILLISECONDS.poll)
  return isSettled()
}

const connections = fc.array(fc.array(step, { maxLength: 8 }), { minLength: 1, maxLength: 10 })
const { failed, counterexample } = await fc.check(
  fc.asyncProperty(connections, async (all) => {
    await Promise.all(all.map(converse))
    return settle()
  }),
  { numRuns: 60, endOnFailure: true },
)
if (failed) console.error(JSON.stringify(counterexample))
console.log(JSON.stringify({ started, ended, inFlight: loadShedding.inFlight(), sockets }))
// Open connections would keep the process running.
process.exit()

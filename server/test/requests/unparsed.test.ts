/** What of a connection is not parsed, so that it takes neither time nor memory. */
import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, expect, test } from 'vitest'
import { trackConnections } from '../../src/connections/connections.ts'
import { openSocket } from '../helpers/connection.ts'
import { get, KEEP_ALIVE, postHead } from '../helpers/requests.ts'

/** How long a parser would have for what must not be parsed, in milliseconds. */
const MOMENT = 200

const arrived: IncomingMessage[] = []
// It sends no response.
const server = createServer((request, response) => {
  arrived.push(request)
  connections.admit(request, response)
})
const connections = trackConnections(server, 10)
afterAll(() => server.closeAllConnections())
await once(server.listen(0, '127.0.0.1'), 'listening')
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

test('a body in chunks is not parsed before it is read', async () => {
  const socket = await openSocket(url)
  socket.write(postHead({ 'Transfer-Encoding': 'chunked' }) + '1\r\nx\r\n'.repeat(1_000_000))
  await expect.poll(() => arrived.length).toBe(1)
  await sleep(MOMENT)
  expect(arrived[0]?.socket.bytesRead).toBeLessThan(200_000)
})

test('what follows the last request of a connection is not parsed', async () => {
  connections.drain()
  const socket = await openSocket(url)
  socket.write(get('/', KEEP_ALIVE).repeat(2))
  await expect.poll(() => arrived.length).toBe(3)
  socket.write(get('/', KEEP_ALIVE).repeat(2))
  await sleep(MOMENT)
  expect(arrived).toHaveLength(3)
})

/** How large the body of POST /plants may be. */
import { expect, test } from 'vitest'
import { startTestServer } from '../../../test/helpers/server/start-test-server.ts'
import { MAX_BODY_BYTES } from '../../src/http/body.ts'
import { openSocket, readAll, readResponses } from '../helpers/wire/connection.ts'
import { post, postHead, withToken } from '../helpers/wire/requests.ts'
import { rejects } from '../helpers/wire/wire.ts'

const server = await startTestServer()

const TOO_LARGE = { headers: { Connection: 'close' }, message: /\b102400 bytes/ }
const CHUNKED = postHead({ 'Transfer-Encoding': 'chunked' })

const TOO_MANY = MAX_BODY_BYTES + 1
test.each([
  ['a larger Content-Length, before any of the body is sent', postHead({ 'Content-Length': String(TOO_MANY) })],
  ['a Content-Length beyond any body', postHead({ 'Content-Length': '9'.repeat(18) })],
  ['chunks that exceed it, before the body ends', `${CHUNKED}${TOO_MANY.toString(16)}\r\n${' '.repeat(TOO_MANY)}\r\n`],
])('%s gets a 413', (_what, wire) => rejects(server, wire, 41300, TOO_LARGE))

// Whether the client still receives the response depends on the network.
test('the connection of endless chunks is closed', async () => {
  const chunk = `10000\r\n${' '.repeat(0x10000)}\r\n`
  const socket = await openSocket(server.url)
  const write = () => {
    while (socket.writable && socket.write(chunk));
  }
  socket.on('drain', write).write(withToken(CHUNKED, server.token))
  write()
  await readAll(socket).catch(() => {})
  expect(socket.destroyed).toBe(true)
})

test('a body of exactly the limit is read to its last byte', () =>
  rejects(server, post('{"id":1,"name":""}'.padEnd(MAX_BODY_BYTES - 1).padEnd(MAX_BODY_BYTES, 'x')), 40001))

test('a client that sends all of a body that is too large can still read the 413', async () => {
  const size = 8 * 2 ** 20
  for (const wire of [postHead({ 'Content-Length': String(size) }), `${CHUNKED}${size.toString(16)}\r\n`]) {
    const socket = await openSocket(server.url)
    socket.pause()
    socket.write(withToken(wire, server.token))
    await new Promise((resolve) => socket.write(Buffer.alloc(size, ' '), resolve))
    const [response] = readResponses(await readAll(socket))
    expect(response?.status).toBe(413)
    expect(JSON.parse(response?.body ?? '')).toMatchObject({ error: 41300 })
  }
})

/** How large the body of POST /plants may be. */
import { describe, expect, test } from 'vitest'
import { isLong } from '../../../test/helpers/long-tests.ts'
import { startTestServer } from '../../../test/helpers/server/start-test-server.ts'
import { readSettings } from '../../src/index.ts'
import { openSocket, readAll, readResponses } from '../helpers/wire/connection.ts'
import { post, postHead, withToken } from '../helpers/wire/requests.ts'
import { accepts, rejects } from '../helpers/wire/wire.ts'

if (!isLong) console.log('server/test/http/body-size.test.ts runs in part: PLANT_STORE_LONG_TESTS=1 runs all of it')

const server = await startTestServer()

/** The default limit, in bytes. */
const LIMIT = 2 ** 20
const TOO_LARGE = { headers: { Connection: 'close' }, message: /\b1048576 bytes/ }
const CHUNKED = postHead({ 'Transfer-Encoding': 'chunked' })

const oneChunk = `${CHUNKED}${(LIMIT + 1).toString(16)}\r\n${' '.repeat(LIMIT + 1)}\r\n`
test.each([
  ['a larger Content-Length, before any of the body is sent', postHead({ 'Content-Length': String(LIMIT + 1) })],
  ['a Content-Length beyond any body', postHead({ 'Content-Length': '9'.repeat(18) })],
  ['a body of one byte more', post('{"id":1,"name":""}'.padEnd(LIMIT + 1))],
  ['one chunk that is larger', `${oneChunk}0\r\n\r\n`],
  ['chunks that exceed it, before the body ends', oneChunk],
])('BODY_LIMIT: %s gets a 413', (_what, wire) => rejects(server, wire, 41300, TOO_LARGE))

// Whether the client still receives the response depends on the network.
test('BODY_LIMIT: the connection of endless chunks is closed', async () => {
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

test('BODY_LIMIT: a body of exactly the limit is accepted', () =>
  accepts(server, post('{"id":19001,"name":"Ficus"}'.padEnd(LIMIT))))

test('BODY_LIMIT: a body of exactly the limit is read to its last byte', () =>
  rejects(server, post('{"id":1,"name":""}'.padEnd(LIMIT - 1).padEnd(LIMIT, 'x')), 40001))

test('BODY_LIMIT: a client that sends all of a body that is too large can still read the 413', async () => {
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

/** The largest BODY_LIMIT; in the quick suite, a part of it. */
const LARGE = isLong ? '64mb' : '2mb'
const { bodyLimit } = readSettings({ BODY_LIMIT: LARGE })
/** The longest body with a plant to store, in bytes: a request waits two seconds for that, in which a slow machine stores no more. */
const STORED = Math.min(8 * 2 ** 20, bodyLimit)
/** A busy machine may take this long for one body, in milliseconds. */
const PATIENCE = 240_000
// The connection of one test is idle while the next one makes its body.
const timeouts = { requestTimeout: PATIENCE, stallTimeout: PATIENCE, keepAliveTimeout: PATIENCE }
const large = await startTestServer({ bodyLimit, ...timeouts })

// What takes quadratic time would take hours, and what recurses would overflow the stack.
describe(`a BODY_LIMIT of ${LARGE}`, () => {
  type Case = [what: string, before: string, filler: string, after: string, error?: number, message?: RegExp]
  const cases: Case[] = [
    ['a name of characters of two bytes each', '{"id":1,"name":"', 'ж', '"}'],
    ['an integer', '{"name":"","id":', '1', '}', 40002, /^id: .*int64/],
    ['opening brackets', '', '[', '', 40001],
    ['a name of escapes', '{"id":2,"name":"', '\\n', '"}'],
    ['a fraction', '{"name":"","id":1.', '0', '1}', 40002, /^id: .*int64/],
    ['a negative exponent', '{"name":"","id":1e-', '1', '}', 40002, /^id: .*int64/],
    ['a lone surrogate at the end', '{"id":1,"name":"', 'ж', '\\ud800"}', 40002, /^name: .*surrogate/],
    ['a string without an end', '{"id":1,"name":"', 'ж', '', 40001],
  ]

  // Each takes seconds.
  test.each(isLong ? cases : cases.slice(0, 3))('%s as long as possible', async (...row) => {
    const [, before, filler, after, error, message = ''] = row
    const size = error === undefined ? STORED : bodyLimit
    const count = Math.floor((size - Buffer.byteLength(before + after)) / Buffer.byteLength(filler))
    const body = before + filler.repeat(count) + after
    let response = await large.post(body)
    // A busy machine takes longer to store it than a server waits for its disk.
    while (response.status === 503) response = await large.post(body)
    const received = (await response.json()) as { name?: string }
    if (error !== undefined) return expect(received).toEqual({ error, message: expect.stringMatching(message) })
    expect(response.status, JSON.stringify(received).slice(0, 500)).toBe(200)
    // `toEqual` would print all of it.
    expect(received.name === JSON.parse(body).name).toBe(true)
  })
})

/** Bytes that are no request, in the midst of requests that are. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTestServer, type TestServer } from '../../test/helpers/server/start-test-server.ts'
import { sendRaw } from './helpers/send-raw.ts'

let server: TestServer
beforeAll(async () => {
  server = await startTestServer()
})
afterAll(() => server.close())

function createRequest(id: number, declared?: string): string {
  const body = `{"id":${id},"name":"plant ${id}"}`
  const length = declared ?? `Content-Length: ${body.length}`
  return `POST /plants HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${server.token}\r\nContent-Type: application/json\r\n${length}\r\n\r\n${body}`
}

/** The statuses of all answers, in their order. */
function statusesOf(answers: string): number[] {
  return [...answers.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status))
}

test.each([
  ['garbage', () => 'garbage\r\n\r\n'],
  ['much garbage', () => 'garbage\r\n\r\n'.repeat(20_000)],
  ['a body in broken chunks', () => createRequest(3, 'Transfer-Encoding: chunked')],
])('%s after two plants: they are answered first, and then it', async (_what, rest) => {
  const answers = await sendRaw(server.url, createRequest(1) + createRequest(2) + rest(), { quiet: 5_000 })
  expect(statusesOf(answers)).toEqual([200, 200, 400])
  expect(answers.match(/"name":"plant \d"|"error":\d+/g)).toEqual([
    '"name":"plant 1"',
    '"name":"plant 2"',
    '"error":40000',
  ])
})

test('broken chunks of a body are refused at once', async () => {
  const answers = await sendRaw(server.url, createRequest(4, 'Transfer-Encoding: chunked'), { quiet: 5_000 })
  expect(statusesOf(answers)).toEqual([400])
})

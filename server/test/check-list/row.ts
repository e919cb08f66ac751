import { expect } from 'vitest'
import type { TestServer } from '../../../test/helpers/server/start-test-server.ts'
import { exchangeRaw } from '../helpers/send-raw.ts'
import { type Answer, readAnswers } from './answers.ts'

/** A row of the check list. It has checks of its own, or the name of the test file that has them. */
export interface Row {
  number: number
  name: string
  checks?: readonly Check[]
  /** A file in `server/test`. */
  coveredBy?: string
}

/** One thing to try at a running server. */
export interface Check {
  what: string
  run(server: TestServer): Promise<void>
}

/** What an answer must be. */
export interface Expected {
  status: number
  /** The number of the `Error` body. */
  error?: number
  /** A header's whole value, a part of it, or `null` where it must be absent. */
  headers?: Record<string, string | RegExp | null>
  body?: string | RegExp
}

/** A request that differs in something from one that creates a plant. */
export interface RequestParts {
  method?: string
  target?: string
  version?: string
  /** `null` leaves a header out that is there by default; a list repeats it. */
  headers?: Record<string, string | null | readonly string[]>
  body?: string | Buffer
}

/** However slow the machine: a service that takes longer than this for one small request has a trap in it. */
const QUICK = 2_000

/**
 * A request as the bytes that go over the wire, one character a byte. `<token>` stands for a token with both scopes. By
 * default its connection ends with the answer.
 */
export function request({
  method = 'POST',
  target = '/plants',
  version = 'HTTP/1.1',
  headers = {},
  body,
}: RequestParts = {}): string {
  const bytes = Buffer.from(body ?? '')
  const complete = {
    Host: 'plants.example.com',
    Authorization: 'Bearer <token>',
    Connection: 'close',
    ...(body !== undefined && { 'Content-Type': 'application/json', 'Content-Length': String(bytes.length) }),
    ...headers,
  }
  const lines = Object.entries(complete).flatMap(([name, values]) =>
    (values === null ? [] : [values].flat()).map((value) => `${name}: ${value}\r\n`),
  )
  return `${method} ${target} ${version}\r\n${lines.join('')}\r\n${bytes.toString('latin1')}`
}

/** A request that creates a plant from the text of a body. */
export function post(body: string | Buffer, headers: RequestParts['headers'] = {}): string {
  return request({ body, headers })
}

/** A request that lists plants. */
export function get(target = '/plants', headers: RequestParts['headers'] = {}): string {
  return request({ method: 'GET', target, headers })
}

/** The request is answered as expected; with `Connection: close` the server closes the connection, too. */
export function answers(what: string, wire: string, ...expected: readonly Expected[]): Check {
  return {
    what,
    async run(server) {
      const received = await send(server, wire)
      expect(received.map(({ status }) => status)).toEqual(expected.map(({ status }) => status))
      for (const [index, answer] of received.entries()) expectAnswer(answer, expected[index])
    },
  }
}

/** The request is answered with an `Error` body that has this number, and with its status. */
export function refuses(what: string, wire: string, error: number, headers: Expected['headers'] = {}): Check {
  return answers(what, wire, { status: Math.floor(error / 100), error, headers })
}

/** The request is answered with 200. */
export function accepts(what: string, wire: string, expected: Omit<Expected, 'status'> = {}): Check {
  return answers(what, wire, { status: 200, ...expected })
}

/** Sends a request, gives what is answered, and sees to what holds for every answer. */
export async function send(server: TestServer, wire: string, token = server.token): Promise<Answer[]> {
  const begin = performance.now()
  const { text, closed } = await exchangeRaw(server.url, Buffer.from(wire.replaceAll('<token>', token), 'latin1'), {
    quiet: 2 * QUICK,
  })
  expect(performance.now() - begin).toBeLessThan(QUICK)
  expect(closed, 'the server closes the connection').toBe(true)
  const received = readAnswers(text, wire.startsWith('HEAD '))
  for (const answer of received) expectWellFormed(answer)
  return received
}

function expectAnswer({ headers, body }: Answer, expected: Expected | undefined): void {
  if (expected?.error !== undefined) expect(JSON.parse(body)).toMatchObject({ error: expected.error })
  if (expected?.body !== undefined) expectText(body, expected.body)
  for (const [name, value] of Object.entries(expected?.headers ?? {})) {
    const given = headers.get(name.toLowerCase())
    if (value === null) expect(given, name).toBeUndefined()
    else expectText(given, value)
  }
}

function expectText(text: string | undefined, expected: string | RegExp): void {
  if (typeof expected === 'string') expect(text).toBe(expected)
  else expect(text).toMatch(expected)
}

/** Row 49, 50 and 62 are of every answer; the others rely on them here. */
function expectWellFormed({ status, headers, body, bodyless }: Answer): void {
  if (status < 200) return
  expect(headers.get('x-request-id')).toMatch(/^[\w.-]{1,64}$/)
  expect(headers.get('date')).toMatch(/ GMT$/)
  expect(headers.get('cache-control')).toBe('no-store')
  expect(headers.get('x-content-type-options')).toBe('nosniff')
  expect(headers.get('content-security-policy')).toBe("default-src 'none'; frame-ancestors 'none'")
  const names = [...headers.keys()]
  expect(names.filter((name) => /^(?:access-control-.*|x-powered-by|server|etag|set-cookie)$/.test(name))).toEqual([])
  if (status < 400) return
  expect(headers.get('content-type')).toBe('application/json; charset=utf-8')
  if (bodyless) return
  expect(body.length).toBeLessThan(1_000)
  const failure = JSON.parse(body)
  expect(failure).toEqual({ error: expect.any(Number), message: expect.stringMatching(/.{10}/) })
  expect(Math.floor(failure.error / 100)).toBe(status)
}

/** What a test sends to a running server byte by byte, and what every response must be. */
import { createOpenApiDocument } from '@plant-store/contract/openapi'
import { expect } from 'vitest'
import type { TestServer } from '../../../test/helpers/server/start-test-server.ts'
import { exchange, readResponses, type WireResponse } from './connection.ts'
import { withToken } from './requests.ts'

/** What a response must be. */
export interface Expected {
  status: number
  /** The number of the `Error` body. */
  error?: number
  /** A part of the message of the `Error` body. */
  message?: RegExp
  /** A header's whole value, a part of it, or `null` if it must be absent. */
  headers?: Record<string, string | RegExp | null>
  body?: string | RegExp
}

/** Where to send a request, and with which token. */
export type Target = Pick<TestServer, 'url' | 'token'>

/** Expects these responses, in this order, and then the connection to be closed. */
export async function responds(server: Target, wire: string, ...expected: readonly Expected[]): Promise<void> {
  const responses = await send(server, wire)
  expect(responses.map(({ status }) => status)).toEqual(expected.map(({ status }) => status))
  for (const [index, response] of responses.entries()) expectResponse(response, expected[index])
}

/** Expects one response with an `Error` body of this number, and the status that is part of it. */
export function rejects(
  server: Target,
  wire: string,
  error: number,
  expected: Omit<Expected, 'status' | 'error'> = {},
): Promise<void> {
  return responds(server, wire, { status: Math.floor(error / 100), error, ...expected })
}

/** Expects one response with the status 200. */
export function accepts(server: Target, wire: string, expected: Omit<Expected, 'status'> = {}): Promise<void> {
  return responds(server, wire, { status: 200, ...expected })
}

/** Sends one request or several, and expects well-formed responses and the connection to be closed. */
export async function send({ url, token }: Target, wire: string): Promise<WireResponse[]> {
  const responses = readResponses(await exchange(url, withToken(wire, token)), wire.startsWith('HEAD '))
  for (const response of responses) expectWellFormed(response)
  expectDeclared(wire, responses)
  return responses
}

/** Expects that the OpenAPI document declares the response to the first request, if it is one of an operation. */
function expectDeclared(wire: string, responses: readonly WireResponse[]): void {
  const [, method = '', path = ''] = /^(\S+) ([^ ?]*)\S* HTTP\//.exec(wire) ?? []
  const operation = paths[path]?.[method.toLowerCase()]
  const [first] = responses.filter(({ status }) => status >= 200)
  if (!operation || !first) return
  const { [first.status]: declared } = operation.responses
  expect(declared, `${first.status} is declared`).toBeDefined()
  const errors = Object.values(declared?.content?.['application/json'].examples ?? {}).map(({ value }) => value.error)
  if (first.status >= 400) expect(errors).toContain(JSON.parse(first.body).error)
}

function expectResponse({ headers, body }: WireResponse, expected: Expected | undefined): void {
  if (expected?.error !== undefined) expect(JSON.parse(body)).toMatchObject({ error: expected.error })
  if (expected?.message !== undefined) expect(JSON.parse(body).message).toMatch(expected.message)
  if (expected?.body !== undefined) expectText(body, expected.body)
  for (const [name, value] of Object.entries(expected?.headers ?? {})) {
    const received = headers.get(name.toLowerCase())
    if (value === null) expect(received, name).toBeUndefined()
    else expectText(received, value)
  }
}

function expectText(text: string | undefined, expected: string | RegExp): void {
  if (typeof expected === 'string') expect(text).toBe(expected)
  else expect(text).toMatch(expected)
}

/** Expects what holds for every response on every path: it is private, inert and, if it is a failure, an `Error`. */
export function expectWellFormed({ status, headers, body, bodyless }: WireResponse): void {
  if (status < 200) return
  expect(headers.get('x-request-id')).toMatch(/^[!-~]{1,128}$/)
  expect(headers.get('date')).toMatch(/ GMT$/)
  expect(headers.get('cache-control')).toBe(headers.has('etag') ? 'private, no-cache' : 'no-store')
  expect(headers.get('x-content-type-options')).toBe('nosniff')
  expect(headers.get('content-security-policy')).toBe("default-src 'none'; frame-ancestors 'none'")
  const names = [...headers.keys()]
  expect(names.filter((name) => /^(?:access-control-.*|x-powered-by|server|set-cookie)$/.test(name))).toEqual([])
  expectDeclaredHeaders(status, headers)
  if (status < 400) return
  expect(headers.get('content-type')).toBe('application/json; charset=utf-8')
  if (bodyless) return
  expect(body.length).toBeLessThan(1_000)
  const failure = JSON.parse(body)
  expect(Object.keys(failure)).toEqual(['error', 'message'])
  expect(failure).toEqual({ error: expect.any(Number), message: expect.stringMatching(/.{10}/) })
  expect(Math.floor(failure.error / 100)).toBe(status)
}

/** Headers that belong to the service, rather than to HTTP or to the security of browsers. */
const OWN = /^(?:etag|link|ratelimit.*|retry-after|www-authenticate|x-request-id)$/
/** What is declared of a header. */
type Declared = Record<string, { required?: boolean; schema: { type?: unknown } }>
const { paths } = createOpenApiDocument()
const operations = Object.values(paths).flatMap((methods) => Object.values(methods))

/** Expects the headers that the OpenAPI document declares for a status, and no other of our own. */
function expectDeclaredHeaders(status: number, received: WireResponse['headers']): void {
  const all: Declared = Object.assign({}, ...operations.map(({ responses }) => responses[status]?.headers))
  for (const [name, { required, schema }] of Object.entries(all)) {
    const value = received.get(name.toLowerCase())
    if (required) expect(value, name).toBeDefined()
    if (value !== undefined && schema.type === 'integer') expect(value, name).toMatch(/^\d+$/)
  }
  const declared = new Set(['x-request-id', ...Object.keys(all).map((name) => name.toLowerCase())])
  expect([...received.keys()].filter((name) => OWN.test(name) && !declared.has(name))).toEqual([])
}

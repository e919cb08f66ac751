/** What answers is not the service, or its answer did not arrive as it was written. */
import type { ServerResponse } from 'node:http'
import { inspect } from 'node:util'
import { describe, expect, test } from 'vitest'
import {
  ApiError,
  ConnectionError,
  createPlantStoreClient,
  errorCodes,
  MalformedResponseError,
  PlantStoreError,
} from '../src/index.ts'
import { failureOf } from './helpers/failure-of.ts'
import { sendError, sendJson, startTinyServer } from './helpers/tiny-server.ts'

const TOKEN = 'pst_very_secret'

function answer(status: number, contentType: string | undefined, body: string, headers: object = {}) {
  return (response: ServerResponse) => {
    response.writeHead(status, { ...(contentType && { 'content-type': contentType }), ...headers }).end(body)
  }
}

async function failureOn(answering: (response: ServerResponse) => unknown): Promise<MalformedResponseError> {
  await using server = await startTinyServer(answering)
  const client = createPlantStoreClient({ baseUrl: server.url, token: TOKEN, retries: 0 })
  const error = await failureOf(client.getPlants(), MalformedResponseError)
  expect(error.kind).toBe('malformed-response')
  expect(error.message).toContain(`GET ${server.url}/plants: answered `)
  return error
}

describe('a malformed answer is a typed error that says what came', () => {
  test.each([
    ['a proxy’s page', answer(502, 'text/html', '<h1>Bad Gateway</h1>'), 502, 'with text/html instead of JSON'],
    ['a login page', answer(200, 'text/html; charset=utf-8', '<form>'), 200, 'with text/html; charset=utf-8 instead'],
    ['text of no type', answer(200, undefined, 'hello'), 200, 'with no content type instead of JSON'],
    ['JSON that is cut off', answer(200, 'application/json', '[{"name":"Fi'), 200, 'with JSON that is cut off'],
    ['an error that is cut off', answer(400, 'application/json', '{"error":400'), 400, 'with JSON that is cut off'],
    ['nothing', answer(200, 'application/json', ''), 200, 'with JSON that is cut off or malformed'],
    ['no content', answer(204, undefined, ''), 204, 'with no content type instead of JSON'],
    ['an object for a list', answer(200, 'application/json', '{"name":"Ficus"}'), 200, 'with JSON of another shape'],
    ['null', answer(200, 'application/json', 'null'), 200, 'with JSON of another shape'],
    ['another kind of error', answer(500, 'application/json', '{"detail":"no"}'), 500, 'with JSON of another shape'],
    [
      'an error of text',
      answer(400, 'application/json', '{"error":"4","message":""}'),
      400,
      'with JSON of another shape',
    ],
    ['a list with an error’s status', answer(400, 'application/json', '[]'), 400, 'with JSON of another shape'],
  ])('%s', async (_, answering, status, reason) => {
    const error = await failureOn(answering)
    expect(error).toMatchObject({ status, attempts: 1 })
    expect(error.message).toContain(reason)
  })

  test('a list for an object', async () => {
    await using server = await startTinyServer((response) => sendJson(response, 200, []))
    const client = createPlantStoreClient({ baseUrl: server.url, token: TOKEN })
    await failureOf(client.createPlant({ id: 1, name: 'Ficus' }), MalformedResponseError)
  })

  test('what is no HTTP at all is a connection error', async () => {
    await using server = await startTinyServer((response) => response.socket?.end('SSH-2.0-OpenSSH_9.6\r\n'))
    const client = createPlantStoreClient({ baseUrl: server.url, token: TOKEN, retries: 0 })
    await failureOf(client.getPlants(), ConnectionError)
  })

  test('it keeps the status, the headers, the request id and Retry-After', async () => {
    const headers = { 'x-request-id': 'abc', 'retry-after': '3', 'x-served-by': 'proxy' }
    const error = await failureOn(answer(503, 'text/html', '', headers))
    expect(error).toMatchObject({ status: 503, requestId: 'abc', retryAfterMs: 3000 })
    expect(error.headers.get('X-Served-By')).toBe('proxy')
  })
})

test('fields that a newer service adds are let through', async () => {
  await using server = await startTinyServer((response) => sendJson(response, 200, [{ name: 'Ficus', height: 3 }]))
  const client = createPlantStoreClient({ baseUrl: server.url, token: TOKEN })
  expect(await client.getPlants()).toEqual([{ name: 'Ficus', height: 3 }])
})

test('a status that the contract does not declare is an ApiError of the kind "undeclared"', async () => {
  await using server = await startTinyServer((response) => sendError(response, errorCodes.notFound))
  const client = createPlantStoreClient({ baseUrl: server.url, token: TOKEN })
  const error = await failureOf(client.getPlants(), ApiError)
  expect(error).toMatchObject({ kind: 'undeclared', status: 404, code: 40400 })
  expect(error.message).toBe(`GET ${server.url}/plants: answered 404 (40400): failure 40400`)
})

describe('a redirect', () => {
  test.each([301, 302, 303, 307, 308])('%d to another origin is not followed', async (status) => {
    await using elsewhere = await startTinyServer((response) => sendJson(response, 200, []))
    const error = await failureOn(answer(status, undefined, '', { location: `${elsewhere.url}/plants` }))
    expect(error.message).toContain(
      `answered ${status} and redirects to ${elsewhere.url}/plants, which is not followed`,
    )
    expect(elsewhere.requests).toHaveLength(0)
  })

  test('to the same origin is not followed either', async () => {
    await using server = await startTinyServer((response, { url }) =>
      url === '/new' ? sendJson(response, 200, []) : response.writeHead(308, { location: '/new' }).end(),
    )
    const client = createPlantStoreClient({ baseUrl: server.url, token: TOKEN })
    await failureOf(client.getPlants(), MalformedResponseError)
    expect(server.requests).toHaveLength(1)
  })
})

describe('the token is never shown', () => {
  const echo = (response: ServerResponse) => response.req.headers.authorization ?? ''

  test.each([
    ['an error message', (r: ServerResponse) => sendJson(r, 400, { error: 40000, message: `what is ${echo(r)}?` })],
    ['a page', (r: ServerResponse) => answer(500, 'text/html', echo(r))(r)],
    ['a content type', (r: ServerResponse) => answer(500, `text/${echo(r).slice(7)}`, '')(r)],
    ['a redirect', (r: ServerResponse) => answer(302, undefined, '', { location: `/?a=${echo(r).slice(7)}` })(r)],
    ['malformed JSON', (r: ServerResponse) => answer(200, 'application/json', `["${echo(r)}`)(r)],
    ['a broken connection', (r: ServerResponse) => r.socket?.end(`HTTP/1.1 ${echo(r)}\r\n\r\n`)],
  ])('where the server sends it back in %s', async (_, answering) => {
    await using server = await startTinyServer(answering)
    const lines: string[] = []
    const logger = { debug: (line: string) => lines.push(line), warn: (line: string) => lines.push(line) }
    const client = createPlantStoreClient({ baseUrl: server.url, token: TOKEN, retries: 1, logger })
    const { error } = await client.safe.getPlants()
    expect(error).toBeInstanceOf(PlantStoreError)
    expect([error?.message, error?.stack, JSON.stringify(error), ...lines].join('\n')).not.toContain(TOKEN)
  })

  test('where it is in use: not in the client, the attempts or the errors', async () => {
    const shown: unknown[] = []
    const show = (...values: unknown[]) => void shown.push(...values.map((value) => inspect(value, { depth: 9 })))
    const hooks = { request: show, response: show, error: show }
    await using server = await startTinyServer((response) => sendError(response, errorCodes.tokenInvalid))
    const client = createPlantStoreClient({ baseUrl: server.url, token: TOKEN, hooks })
    show(client, await client.safe.getPlants())
    expect(shown.length).toBeGreaterThan(5)
    expect(shown.join('\n')).not.toContain(TOKEN)
  })
})

/** Responses that are not the service's, or did not arrive intact. */
import type { ServerResponse } from 'node:http'
import { inspect } from 'node:util'
import { describe, expect, test } from 'vitest'
import { errorCodes, MalformedResponseError, PlantStoreError } from '../../src/index.ts'
import { failureOf } from '../helpers/failure-of.ts'
import { sendError, sendJson, startTinyServer } from '../helpers/tiny-server.ts'

const TOKEN = 'pst_very_secret'

type Handler = (response: ServerResponse) => unknown

function respond(status: number, contentType: string | undefined, body: string, headers: object = {}): Handler {
  const all = { ...(contentType && { 'content-type': contentType }), ...headers }
  return (response) => response.writeHead(status, all).end(body)
}

async function failureOn(handler: Handler, token = TOKEN): Promise<MalformedResponseError> {
  await using server = await startTinyServer(handler)
  const error = await failureOf(server.createClient({ token, retries: 0 }).getPlants(), MalformedResponseError)
  expect(error.kind).toBe('malformed-response')
  expect(error.message).toContain(`GET ${server.url}/plants: responded `)
  return error
}

describe('a malformed response is a typed error that says what arrived', () => {
  const json = (status: number, text: string) => respond(status, 'application/json', text)
  test.each<[reason: string, status: number, title: string, Handler]>([
    ['text/html instead of JSON', 502, 'a proxy’s page', respond(502, 'text/html', '<h1>Bad Gateway</h1>')],
    ['text/html; charset=utf-8 instead', 200, 'a login page', respond(200, 'text/html; charset=utf-8', '<form>')],
    ['no content type instead of JSON', 204, 'no content', respond(204, undefined, '')],
    ['truncated or malformed JSON', 200, 'a truncated list', json(200, '[{"name":"Fi')],
    ['truncated or malformed JSON', 400, 'a truncated error', json(400, '{"error":400')],
    ['JSON of an unexpected shape', 200, 'an object instead of a list', json(200, '{"name":"Ficus"}')],
    ['JSON of an unexpected shape', 500, 'an error without a message', json(500, '{"error":50000}')],
    ['JSON of an unexpected shape', 400, 'an error code that is text', json(400, '{"error":"4","message":""}')],
    ['JSON of an unexpected shape', 400, 'a list with an error status', json(400, '[]')],
  ])('%s, status %d: %s', async (reason, status, _, handler) => {
    const error = await failureOn(handler)
    expect(error).toMatchObject({ status, attempts: 1 })
    expect(error.message).toContain(`with ${reason}`)
  })

  test('the head and the start of a page are in the error, without the token', async () => {
    const page = `<h1>Bad\n Gateway</h1> ${TOKEN} ${'x'.repeat(300)}`
    const headers = { 'x-request-id': 'abc', 'retry-after': '3', 'x-served-by': 'proxy' }
    const error = await failureOn(respond(502, 'text/html', page, headers))
    expect(error).toMatchObject({ status: 502, requestId: 'abc', retryAfterMs: 3000 })
    expect(error.headers.get('X-Served-By')).toBe('proxy')
    expect(error.text).toBe(page.replace('\n', '').replace(TOKEN, '[token]').slice(0, 200))
    expect(error.detail).toBe(`responded 502 with text/html instead of JSON: ${error.text}`)
    const cut = await failureOn(respond(502, 'text/plain', `${'x'.repeat(195)}${TOKEN}`))
    expect(cut.text).toBe(`${'x'.repeat(195)}[toke`)
    for (const type of ['application/json', 'text/plain']) {
      expect((await failureOn(respond(400, type, '["private"]'))).message).not.toContain('private')
    }
  })

  test('a list instead of an object', async () => {
    await using server = await startTinyServer((response) => sendJson(response, 200, []))
    await failureOf(server.createClient().createPlant({ id: 1, name: 'Ficus' }), MalformedResponseError)
  })
})

test('unknown fields of a newer service are kept', async () => {
  await using server = await startTinyServer((response) => sendJson(response, 200, [{ name: 'Ficus', height: 3 }]))
  expect(await server.createClient().getPlants()).toEqual([{ name: 'Ficus', height: 3 }])
})

test.each([301, 302, 303, 307, 308])('a redirect (%d) to any place is not followed', async (status) => {
  await using elsewhere = await startTinyServer((response) => sendJson(response, 200, []))
  for (const location of [`${elsewhere.url}/plants`, '/plants']) {
    await using server = await startTinyServer(respond(status, undefined, '', { location }))
    const { message } = await failureOf(server.createClient().getPlants(), MalformedResponseError)
    expect(message).toContain(`responded ${status} with a redirect to ${location}, which is not followed`)
    expect([server.requests.length, elsewhere.requests.length]).toEqual([1, 0])
  }
})

describe('the token is never exposed', () => {
  const tokenOf = (response: ServerResponse) => (response.req.headers.authorization ?? '').slice(7)
  const textsOf = (error: Error) => [String(error), error.stack, JSON.stringify(error)].join('\n')
  const redirect = (location: string) => respond(302, undefined, '', { location })

  test.each<[string, (token: string) => Handler]>([
    ['an error message', (token) => (r) => sendJson(r, 400, { error: 40000, message: `not ${token}` })],
    ['a page', (token) => respond(500, 'text/html', token)],
    ['a content type', (token) => respond(500, `text/${token}`, '')],
    ['a redirect', (token) => redirect(`/?a=${token}`)],
    ['malformed JSON', (token) => respond(200, 'application/json', `["${token}`)],
    ['a request id', (token) => (r) => sendError(r, errorCodes.internal, { 'x-request-id': token })],
    ['another header', (token) => (r) => sendError(r, errorCodes.internal, { 'x-debug': token })],
    ['a link', (token) => (r) => sendJson(r, 200, [], { link: `<https://elsewhere.example/${token}>; rel="next"` })],
  ])('if the server sends it back in %s', async (_, handler) => {
    for (const token of [TOKEN, 'pst+very/secret==']) {
      await using server = await startTinyServer((response) => handler(tokenOf(response))(response))
      const lines: string[] = []
      const [debug, info, warn] = Array(3).fill((line: string) => lines.push(line))
      const client = server.createClient({ token, retries: 1, logger: { debug, info, warn }, logLevel: 'debug' })
      const error = await failureOf(client.raw.getPlants(), PlantStoreError)
      const shown = [textsOf(error), inspect(error), inspect({ ...error }), ...lines].join('\n')
      expect(shown).not.toContain(token)
      expect(shown).not.toContain(encodeURIComponent(token))
    }
  })

  const fetch = (_: string, init: unknown) => Promise.reject(new Error(`no response to ${JSON.stringify(init)}`))
  const next = ({ rejected }: { rejected: boolean }) => (rejected ? expect.fail(`no successor of ${TOKEN}`) : TOKEN)
  const breakHead: Handler = (r) => r.socket?.end(`HTTP/1.1 ${tokenOf(r)}\r\n\r\n`)
  const reject: Handler = (r) => sendError(r, errorCodes.tokenEnded)
  test.each<[title: string, Handler, options: object, detail: string]>([
    // The cause, which is the runtime’s error, may have it.
    ['the server sends it back in a broken response', breakHead, { token: TOKEN }, 'connection failed: '],
    ['the error of a fetch function shows the request', reject, { token: TOKEN, fetch }, '"Bearer [token]"'],
    ['the function of the next token shows the rejected one', reject, { token: next }, ': no successor of [token]'],
  ])('if %s', async (_, handler, options, detail) => {
    await using server = await startTinyServer(handler)
    const error = await failureOf(server.createClient({ ...options, retries: 0 }).getPlants(), PlantStoreError)
    expect(error.detail).toContain(detail)
    expect(textsOf(error)).not.toContain(TOKEN)
  })

  test.each([
    ['upper case', encodeURIComponent],
    ['lower case', (text: string) => encodeURIComponent(text).toLowerCase()],
    ['a part', (text: string) => text.replace('/', '%2f')],
  ])('in the target of a redirect, with escapes in %s', async (_, write) => {
    const token = 'pst_a/b+c=d'
    const error = await failureOn(redirect(`/in?t=${write(token)}&n=%2fa`), token)
    expect(error.message).toMatch(/redirect to \/in\?t=\[token\]&n=/)
  })

  const basic = { token: false, headers: { Authorization: 'Basic cGxhbnRzOnNlY3JldA==' } } as const
  test.each<[title: string, options: object, secret: string]>([
    ['as a token', { token: TOKEN }, TOKEN],
    ['as the authorization header of the app', basic, 'cGxhbnRz'],
  ])('%s, by the client, its hooks or its errors', async (_, options, secret) => {
    const shown: unknown[] = []
    const show = (...values: unknown[]) => void shown.push(...values.map((value) => inspect(value, { depth: 9 })))
    const hooks = { request: show, response: show, error: show }
    const bodyOf = (authorization = '') => ({ error: 40000, message: `invalid: ${authorization}` })
    await using server = await startTinyServer((r, { headers }) => sendJson(r, 400, bodyOf(headers.authorization)))
    const client = server.createClient({ ...options, hooks })
    const { error } = await client.safe.getPlants()
    show(client, error)
    expect(error?.detail).toMatch(/^invalid: (Bearer|Basic) \[token\]$/)
    expect(server.requests[0]?.headers.authorization).toContain(secret)
    expect(shown.length).toBeGreaterThan(5)
    expect(shown.join('\n')).not.toContain(secret)
    expect(shown.join('\n')).not.toContain('authorization:')
  })

  test.each(['t', 'redirect', 'responded'])(
    'and the words of the SDK are never replaced by the token %j',
    async (token) => {
      await using server = await startTinyServer(redirect(`/${token}`))
      const { message } = await failureOf(server.createClient({ token }).getPlants(), MalformedResponseError)
      const location = token.length < 8 ? token : '[token]'
      expect(message).toContain(`responded 302 with a redirect to /${location}, which is not followed`)
    },
  )
})

/** What is answered, beside the plants: repeated ids, negotiation, caches, browsers, headers. */
import { expect } from 'vitest'
import { accepts, answers, type Check, get, post, type Row, refuses, request, send } from './row.ts'

const NO_CROSS_ORIGIN = {
  'Access-Control-Allow-Origin': null,
  'Access-Control-Allow-Methods': null,
  'Access-Control-Allow-Headers': null,
  'Access-Control-Allow-Credentials': null,
}

export const contents: readonly Row[] = [
  {
    number: 45,
    name: 'an id that is taken',
    checks: [
      accepts('the first time', post('{"id":45001,"name":"Ficus"}')),
      accepts('the same content again', post('{"name":"Ficus","id":45001}'), { body: '{"name":"Ficus"}' }),
      refuses('other content', post('{"id":45001,"name":"Monstera"}'), 40003),
      refuses('the same with a tag', post('{"id":45001,"name":"Ficus","tag":""}'), 40003),
      createsOne('fifty times the same at once', () => 'same', [...Array(50).fill(200)]),
      createsOne('fifty different ones at once', (index) => `${index}`, [200, ...Array(49).fill(400)]),
    ],
  },
  {
    number: 46,
    name: 'Accept',
    checks: ['application/xml', '*/*;q=0', 'application/json;q=0', 'junk', ',;=', 'text/html, */*'].map((accept) =>
      accepts(`${accept} is answered with JSON`, get('/plants', { Accept: accept }), {
        headers: { 'Content-Type': 'application/json; charset=utf-8' },
      }),
    ),
  },
  {
    number: 47,
    name: 'conditions',
    checks: [
      accepts('If-None-Match', get('/plants', { 'If-None-Match': '*' }), { headers: { ETag: null } }),
      accepts('If-Modified-Since', get('/plants', { 'If-Modified-Since': 'Fri, 01 Jan 2100 00:00:00 GMT' })),
      refuses('without a token', get('/plants', { 'If-None-Match': '*', Authorization: null }), 40101),
    ],
  },
  {
    number: 48,
    name: 'Range',
    checks: [
      accepts('is ignored', get('/plants', { Range: 'bytes=0-0' }), {
        headers: { 'Content-Range': null },
        body: /^\[.*\]$/,
      }),
    ],
  },
  {
    number: 49,
    name: 'Cache-Control, of every answer in this list; here of each kind',
    checks: everyKind({ 'Cache-Control': 'no-store' }),
  },
  {
    number: 50,
    name: 'security headers, of every answer in this list; here of each kind',
    checks: everyKind({
      'X-Content-Type-Options': 'nosniff',
      'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
      'X-Powered-By': null,
    }),
  },
  {
    number: 51,
    name: 'pages of other origins, where none is allowed',
    checks: [
      answers(
        'a preflight',
        request({
          method: 'OPTIONS',
          headers: { Authorization: null, Origin: 'https://evil.example', 'Access-Control-Request-Method': 'POST' },
        }),
        { status: 204, headers: NO_CROSS_ORIGIN },
      ),
      accepts('a request', get('/plants', { Origin: 'https://evil.example' }), { headers: NO_CROSS_ORIGIN }),
      refuses('a failure', get('/nowhere', { Origin: 'null' }), 40400, NO_CROSS_ORIGIN),
    ],
  },
  {
    number: 52,
    name: 'compression',
    checks: [
      accepts('is off', get('/plants', { 'Accept-Encoding': 'gzip, br, zstd, deflate' }), {
        headers: { 'Content-Encoding': null },
      }),
    ],
  },
  {
    number: 53,
    name: 'input does not become headers',
    checks: [
      accepts('line ends in a name', post('{"id":53001,"name":"a\\r\\nX-Evil: 1\\r\\n\\r\\n"}'), {
        headers: { 'X-Evil': null },
        body: '{"name":"a\\r\\nX-Evil: 1\\r\\n\\r\\n"}',
      }),
      accepts('line ends in a query', get('/plants?limit=1&x=%0d%0aX-Evil:%201'), { headers: { 'X-Evil': null } }),
      refuses('line ends in a cursor', get('/plants?limit=1&cursor=%0d%0aX-Evil:%201'), 40004, { 'X-Evil': null }),
      accepts('a request id that is well-formed is kept', get('/plants', { 'X-Request-Id': 'a.b_C-1' }), {
        headers: { 'X-Request-Id': 'a.b_C-1' },
      }),
      ...['a b', 'a;b', '<script>', '\xfc', 'x'.repeat(65), ''].map((id) =>
        accepts(`the request id ${id} is replaced`, get('/plants', { 'X-Request-Id': id }), {
          headers: { 'X-Request-Id': /^[\da-f-]{36}$/ },
        }),
      ),
    ],
  },
]

function everyKind(headers: Record<string, string | null>): Check[] {
  return [
    accepts('a list', get(), { headers }),
    accepts('a page', get('/plants?limit=1'), { headers }),
    accepts('a plant', post('{"id":49001,"name":"Ficus"}'), { headers }),
    answers('OPTIONS', request({ method: 'OPTIONS' }), { status: 204, headers }),
    refuses('what the app refuses', get('/nowhere'), 40400, headers),
    refuses('what the parser refuses', 'no request\r\n\r\n', 40000, headers),
  ]
}

/** Many requests with one id at the same time store one plant. */
function createsOne(what: string, nameOf: (index: number) => string, statuses: readonly number[]): Check {
  return {
    what,
    async run(server) {
      const { token } = await server.createToken({ account: what })
      const wires = statuses.map((_, index) => post(`{"id":1,"name":"${nameOf(index)}"}`))
      const received = await Promise.all(wires.map((wire) => send(server, wire, token)))
      expect(received.map(([answer]) => answer?.status ?? 0).sort()).toEqual(statuses)
      const [list] = await send(server, get(), token)
      expect(JSON.parse(list?.body ?? '')).toHaveLength(1)
    },
  }
}

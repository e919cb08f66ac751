/** Which paths there are, which methods they take, and what is made of the rest of a target. */
import { expect } from 'vitest'
import { accepts, answers, type Check, get, post, type Row, refuses, request, send } from './row.ts'

const ALLOW = { Allow: 'GET, HEAD, OPTIONS, POST' }
const NO_TOKEN = { Authorization: null }

export const methodsAndPaths: readonly Row[] = [
  {
    number: 26,
    name: 'other methods',
    checks: ['PUT', 'PATCH', 'DELETE', 'TRACE', 'QUERY', 'PROPFIND'].map((method) =>
      refuses(`${method}, without a token`, request({ method, headers: NO_TOKEN }), 40500, ALLOW),
    ),
  },
  {
    number: 27,
    name: 'methods that there are not, and CONNECT',
    checks: [
      refuses('FOO', request({ method: 'FOO', headers: { Connection: null } }), 40000, { Connection: 'close' }),
      refuses('get', request({ method: 'get', headers: { Connection: null } }), 40000, { Connection: 'close' }),
      refuses('CONNECT', request({ method: 'CONNECT', target: 'example.com:443' }), 40000, { Connection: 'close' }),
      refuses('CONNECT to a path', request({ method: 'CONNECT', headers: { Connection: null } }), 40000),
    ],
  },
  {
    number: 28,
    name: 'HEAD',
    checks: [
      sameHeaders('the headers of GET', '/plants', {}),
      sameHeaders('the headers of a page', '/plants?limit=1', {}),
      sameHeaders('the headers of a failure', '/plants?limit=0', {}),
      sameHeaders('the same authentication', '/plants', NO_TOKEN),
    ],
  },
  {
    number: 29,
    name: 'OPTIONS',
    checks: [
      answers('a path', request({ method: 'OPTIONS', headers: NO_TOKEN }), { status: 204, headers: ALLOW }),
      answers('the server', request({ method: 'OPTIONS', target: '*', headers: NO_TOKEN }), { status: 204 }),
      refuses('an unknown path', request({ method: 'OPTIONS', target: '/nowhere' }), 40400),
      refuses('the server, with GET', get('*'), 40400),
    ],
  },
  {
    number: 30,
    name: 'X-HTTP-Method-Override',
    checks: ['X-HTTP-Method-Override', 'X-HTTP-Method', 'X-Method-Override'].flatMap((name) => [
      accepts(`${name} of GET is ignored`, get('/plants', { [name]: 'DELETE' }), { body: /^\[/ }),
      accepts(`${name} of POST is ignored`, post('{"id":30001,"name":"Ficus"}', { [name]: 'GET' }), { body: /^\{/ }),
    ]),
  },
  {
    number: 31,
    name: 'paths that are nearly known',
    checks: [
      '/plants/',
      '/Plants',
      '//plants',
      '//x/plants',
      '/plants%2F',
      '/plants%2f',
      '/plants;a',
      '/./plants',
      '/x/../plants',
      '/plants/.',
      '/plants%00',
      '/plants%3Flimit=1',
      '/plants%20',
      '/%',
      '/%zz',
      '/%ff',
      '/\\plants',
      '/plants/1/leaves',
    ].map((path) => refuses(path, get(path), 40400)),
  },
  {
    number: 32,
    name: 'a known path with a letter encoded',
    checks: [
      refuses('is not found', get('/%70lants'), 40400),
      refuses('is no way around the token', get('/%70lants', NO_TOKEN), 40400),
    ],
  },
  {
    number: 33,
    name: 'a target with another host',
    checks: [
      accepts('is served, and the host used for nothing', get('http://evil.example/plants?limit=1'), {
        headers: { Link: /^<\?limit=1&cursor=[\w-]{32}>; rel="next"$/ },
      }),
      accepts('is created', request({ target: 'http://evil.example/plants', body: '{"id":33001,"name":"Ficus"}' })),
      refuses('needs a token', get('http://evil.example/plants', NO_TOKEN), 40101),
      refuses('and a path', get('http://evil.example'), 40400),
      accepts('a Host header that is evil', get('/plants?limit=1', { Host: 'evil.example' }), {
        headers: { Link: /^<\?limit=1&/ },
      }),
    ],
  },
  {
    number: 34,
    name: 'junk in the query',
    checks: [
      '?',
      '?&&==&',
      '?a[__proto__]=1&__proto__[a]=1&__proto__=1&constructor=1&toString=1',
      '?a=1&a=2&a[]=3',
      '?%&%ff&%zz=%',
      `?${'a&'.repeat(7_000)}`,
      '??limit=x',
    ].map((query) => accepts(query.slice(0, 80), get(`/plants${query}`), { body: /^\[/ })),
  },
  {
    number: 35,
    name: 'unknown paths',
    checks: ['/', '/nowhere', '/__proto__', '/constructor', '/.env', '/<script>', '/plant', '/livez', '/metrics'].map(
      (path) => notReflected(path),
    ),
  },
]

/** HEAD gives what GET gives, the body apart. */
function sameHeaders(what: string, target: string, headers: Record<string, null>): Check {
  return {
    what,
    async run(server) {
      const both = await Promise.all(
        ['GET', 'HEAD'].map(async (method) => (await send(server, request({ method, target, headers })))[0]),
      )
      const [listed, head] = both.map((answer) => {
        // How a body is cut in chunks is only known when it is made (RFC 9110 section 9.3.2).
        const {
          date,
          'x-request-id': _id,
          'transfer-encoding': _coding,
          ...rest
        } = Object.fromEntries(answer?.headers ?? [])
        return { status: answer?.status, dated: date !== undefined, ...rest }
      })
      expect(head).toEqual(listed)
      expect(both[1]?.bodyless).toBe(true)
    },
  }
}

function notReflected(path: string): Check {
  return {
    what: `${path} is not found and not repeated`,
    async run(server) {
      const [answer] = await send(server, get(path, NO_TOKEN))
      expect(JSON.parse(answer?.body ?? '')).toMatchObject({ error: 40400 })
      if (path !== '/') expect(answer?.body).not.toContain(path.slice(1))
    },
  }
}

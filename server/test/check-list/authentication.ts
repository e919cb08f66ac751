/** Who is let in, and what the others are told. */
import { expect } from 'vitest'
import { generateToken } from '../../src/accounts/token-format.ts'
import { accepts, type Check, get, post, type Row, refuses, request, send } from './row.ts'

const CHALLENGE = { 'WWW-Authenticate': 'Bearer realm="plant-store"' }
const INVALID = { 'WWW-Authenticate': 'Bearer realm="plant-store", error="invalid_token"' }

export const authentication: readonly Row[] = [
  {
    number: 36,
    name: 'no Authorization',
    checks: [
      refuses('GET', get('/plants', { Authorization: null }), 40101, CHALLENGE),
      refuses('POST', post('{"id":1,"name":"Ficus"}', { Authorization: null }), 40101, CHALLENGE),
    ],
  },
  {
    number: 37,
    name: 'tokens that are not valid',
    checks: [
      {
        what: 'one that is unknown and those that are malformed are told the same',
        async run(server) {
          const tokens = [generateToken(), 'x', 'pst_', `${server.token}x`, `${server.token.slice(0, -1)}!`]
          const received = await Promise.all(tokens.map((token) => send(server, get(), token)))
          expect(new Set(received.map(([answer]) => answer?.body)).size).toBe(1)
          await refuses('', get('/plants', withAuthorization(`Bearer ${generateToken()}`)), 40102, INVALID).run(server)
        },
      },
      {
        what: 'one that is expired and one that is revoked',
        async run(server) {
          const { token } = await server.createToken({ expiresAt: new Date(Date.now() - 1) })
          await refuses('', get('/plants', withAuthorization(`Bearer ${token}`)), 40103, INVALID).run(server)
          const revoked = await server.createToken()
          await server.revoke(revoked.id)
          await refuses('', get('/plants', withAuthorization(`Bearer ${revoked.token}`)), 40103, INVALID).run(server)
        },
      },
    ],
  },
  {
    number: 38,
    name: 'other spellings of a good header',
    checks: ['bearer <token>', 'BEARER <token>', 'bEaReR <token>', 'Bearer  <token>', 'Bearer     <token>'].map(
      (authorization) => accepts(authorization, get('/plants', withAuthorization(authorization))),
    ),
  },
  {
    number: 39,
    name: 'malformed credentials',
    checks: [
      ...['Bearer', 'Bearer ', 'Bearer\t<token>', 'Bearer a,b', 'Bearer <token>,<token>', 'Bearer <token> x'],
      'Bearer "<token>"',
      'Bearer \xfc',
      `Bearer ${'a'.repeat(8_000)}`,
    ]
      .map((authorization) =>
        refuses(authorization.slice(0, 40), get('/plants', withAuthorization(authorization)), 40102, INVALID),
      )
      .concat(
        ['Basic dXNlcjpwYXNz', '<token>', 'Token <token>', 'Bearer<token>', ''].map((authorization) =>
          refuses(
            `no bearer token: ${authorization}`,
            get('/plants', withAuthorization(authorization)),
            40101,
            CHALLENGE,
          ),
        ),
      ),
  },
  {
    number: 40,
    name: 'two Authorization headers',
    checks: [
      refuses('the same twice', get('/plants', withAuthorization('Bearer <token>', 'Bearer <token>')), 40000),
      refuses('a good one first', get('/plants', withAuthorization('Bearer <token>', 'Bearer x')), 40000),
      refuses('a good one last', get('/plants', withAuthorization('Basic x', 'Bearer <token>')), 40000),
      refuses(
        'behind two thousand other headers',
        get('/plants', { X: Array(1500).fill(''), authorization: 'Bearer x' }).replaceAll('X: ', 'X:'),
        43100,
      ),
    ],
  },
  {
    number: 41,
    name: 'a token in the query',
    checks: [refuses('is ignored', get('/plants?access_token=<token>', { Authorization: null }), 40101, CHALLENGE)],
  },
  { number: 42, name: 'a token is looked up by its SHA-256', coveredBy: 'accounts/token-format.test.ts' },
  {
    number: 43,
    name: 'a stranger’s body',
    checks: [
      refuses('is not waited for', announcing('Content-Length: 1000000'), 40101, { Connection: 'close' }),
      refuses('is not waited for in chunks', announcing('Transfer-Encoding: chunked'), 40101, { Connection: 'close' }),
      refuses('comes before its size and type', announcing('Content-Length: 9999999999'), 40101),
    ],
  },
  {
    number: 44,
    name: 'accounts do not see each other',
    checks: [separateAccounts()],
  },
]

function withAuthorization(...values: readonly string[]): Record<string, readonly string[]> {
  return { Authorization: values }
}

/** A request without a token that announces a body of a type that is not taken and sends none of it. */
function announcing(length: string): string {
  const head = request({ headers: { Authorization: null, Connection: null, 'Content-Type': 'text/plain' } })
  return head.replace('\r\n\r\n', `\r\n${length}\r\n\r\n`)
}

function separateAccounts(): Check {
  return {
    what: 'the same id is another plant, and tells nothing of the first',
    async run(server) {
      const [{ token: one }, { token: other }] = await Promise.all([
        server.createToken({ account: 'one' }),
        server.createToken({ account: 'other' }),
      ])
      const [first] = await send(server, post('{"id":44001,"name":"first"}'), one)
      const [second] = await send(server, post('{"id":44001,"name":"second"}'), other)
      expect([first?.status, second?.status]).toEqual([200, 200])
      const lists = await Promise.all([one, other].map((token) => send(server, get(), token)))
      expect(lists.map(([list]) => list?.body)).toEqual(['[{"name":"first"}]', '[{"name":"second"}]'])
    },
  }
}

/** Several requests on a connection before the first response. */
import { test } from 'vitest'
import { startTestServer } from '../../../test/helpers/server/start-test-server.ts'
import { MAX_PIPELINED } from '../../src/http/listen/turns.ts'
import { get, KEEP_ALIVE, NO_TOKEN, post, postHead, request } from '../helpers/wire/requests.ts'
import { type Expected, responds } from '../helpers/wire/wire.ts'

const CLOSED = { Connection: 'close' }
const OPEN = { Connection: 'keep-alive' }
const CHUNKS = '17\r\n{"id":1,"name":"Ficus"}\r\n0\r\n\r\n'
const REJECTED = { ...KEEP_ALIVE, Authorization: null }

const server = await startTestServer()

function postPlant(id: number): string {
  return post(`{"id":${id},"name":"plant ${id}"}`, KEEP_ALIVE)
}

const next = { status: 200, headers: CLOSED }
test.each<[what: string, wire: string, ...expected: Expected[]]>([
  [
    'an invalid request between valid ones is one response',
    postPlant(1) + post('{', KEEP_ALIVE) + get(),
    { status: 200, headers: OPEN },
    { status: 400, error: 40001, headers: OPEN },
    next,
  ],
  [
    'a list has the plant of the request before it, and no later one',
    postPlant(7) + get('/plants', KEEP_ALIVE) + postPlant(8) + get(),
    { status: 200, body: '{"name":"plant 7"}' },
    { status: 200, body: /\{"name":"plant 7"\}\]$/ },
    { status: 200, body: '{"name":"plant 8"}' },
    { status: 200, body: /\{"name":"plant 8"\}\]$/ },
  ],
  ...[
    ['a lot of garbage', 'garbage\r\n\r\n'.repeat(20_000)],
    ['a body instead of chunks', `${postHead({ 'Transfer-Encoding': 'chunked' })}{"id":3,"name":"plant 3"}`],
  ].map(([what, wire]): [string, string, ...Expected[]] => [
    `${what} after two requests gets a 400 after their responses`,
    `${postPlant(1)}${postPlant(2)}${wire}`,
    { status: 200, body: '{"name":"plant 1"}' },
    { status: 200, body: '{"name":"plant 2"}' },
    { status: 400, error: 40000, headers: CLOSED },
  ]),
  ['a rejected request that closes the connection is the last one', get('/nowhere') + get(), { status: 404 }],
  [
    'a rejected request has a small body that is skipped, and not read as a request',
    request({ headers: REJECTED, body: get('/plants', NO_TOKEN) }) + get(),
    { status: 401, headers: OPEN },
    next,
  ],
  [
    'a rejected request keeps the connection if its large body has arrived',
    post('x'.repeat(70_000), KEEP_ALIVE) + get(),
    { status: 400, error: 40001, headers: OPEN },
    next,
  ],
  [
    'a rejected request with a large body closes the connection',
    request({ headers: REJECTED, body: get('/plants', NO_TOKEN).padEnd(65 * 1024) }) + get(),
    { status: 401, headers: CLOSED },
  ],
  [
    'a rejected request with chunks closes the connection',
    request({ headers: { ...REJECTED, 'Transfer-Encoding': 'chunked' } }) + CHUNKS + get(),
    { status: 401, headers: CLOSED },
  ],
  [
    `a connection with ${MAX_PIPELINED} waiting requests closes after those`,
    Array.from({ length: MAX_PIPELINED + 20 }, (_, index) => postPlant(100 + index)).join(''),
    ...Array(MAX_PIPELINED).fill({ status: 200, headers: OPEN }),
    next,
  ],
  ['and stores no plant of the others', get(), { status: 200, body: RegExp(`"plant ${100 + MAX_PIPELINED}"}]$`) }],
])('%s', (_what, wire, ...expected) => responds(server, wire, ...expected))

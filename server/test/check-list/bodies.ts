/** What a body may be, and what it may not. */
import { connect } from 'node:net'
import { expect } from 'vitest'
import type { TestServer } from '../../../test/helpers/server/start-test-server.ts'
import { accepts, type Check, get, post, type Row, refuses, request, send } from './row.ts'

const PLANT = '{"id":1,"name":"Ficus"}'
/** One byte more than the server takes. */
const TOO_LARGE = 2 ** 20 + 1

export const bodies: readonly Row[] = [
  {
    number: 1,
    name: 'malformed JSON',
    checks: [
      '{"id":1,"name":"Ficus",}',
      '{"id":1,"name":"Ficus"',
      `${PLANT}${PLANT}`,
      '{"id":NaN,"name":"Ficus"}',
      '{"id":Infinity,"name":"Ficus"}',
      "{'id':1,'name':'Ficus'}",
      '{id:1,"name":"Ficus"}',
      '{"id":1,/* one */"name":"Ficus"}',
      '{"id":1,"name":"Ficus"}//',
      '{"id":007,"name":"Ficus"}',
      '{"id":+1,"name":"Ficus"}',
      '{"id":.1,"name":"Ficus"}',
      '{"id":1.,"name":"Ficus"}',
      '{"id":0x10,"name":"Ficus"}',
      '{"id":1,"name":"Fi\tcus"}',
      '{"id":1,"name":"Fi\ncus"}',
      '{"id":1,"name":"\\x41"}',
      '{"id":1,"name":"\\u12"}',
      `${PLANT}\u00a0`,
      '<plant/>',
    ].map((body) => refuses(body, post(body), 40001)),
  },
  {
    number: 2,
    name: 'an empty body',
    checks: [
      refuses('Content-Length: 0', post(''), 40001),
      refuses('whitespace', post(' \r\n\t '), 40001),
      refuses('an empty chunked body', chunked('0\r\n\r\n'), 40001),
      refuses('neither a body nor a length', request({ headers: { 'Content-Type': 'application/json' } }), 40001),
    ],
  },
  {
    number: 3,
    name: 'a top level that is no object',
    checks: ['null', '5', '"x"', '[]', 'true', `[${PLANT}]`].map((body) => refuses(body, post(body), 40002)),
  },
  {
    number: 4,
    name: 'a key given twice',
    checks: [
      '{"id":1,"id":2,"name":"Ficus"}',
      '{"id":1,"id":1,"name":"Ficus"}',
      '{"id":1,"\\u0069d":2,"name":"Ficus"}',
      '{"id":1,"name":"Ficus","other":{"a":1,"a":2}}',
      '{"__proto__":1,"id":1,"name":"Ficus","__proto__":2}',
    ].map((body) => refuses(body, post(body), 40001)),
  },
  {
    number: 5,
    name: 'deep nesting',
    checks: [
      refuses('50 000 arrays', post(`${'['.repeat(50_000)}${']'.repeat(50_000)}`), 40001),
      refuses('50 000 arrays that do not end', post('['.repeat(50_000)), 40001),
      refuses('20 000 objects', post(`${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}`), 40001),
      refuses('in a field that is ignored', post(`{"id":1,"name":"Ficus","other":${'['.repeat(20_000)}`), 40001),
    ],
  },
  {
    number: 6,
    name: 'keys that mean something to JavaScript',
    checks: [
      accepts(
        'they are ignored and not echoed',
        post('{"id":6001,"name":"Ficus","__proto__":{"tag":"a"},"constructor":{"prototype":{"tag":"b"}},"toJSON":1}'),
        { body: '{"name":"Ficus"}' },
      ),
      refuses('a field is not taken from __proto__', post('{"__proto__":{"id":6002,"name":"Ficus"}}'), 40002),
      accepts('nobody’s prototype has changed', post('{"id":6003,"name":"Ficus"}'), { body: '{"name":"Ficus"}' }),
    ],
  },
  {
    number: 7,
    name: 'ids up to the ends of int64, exactly',
    checks: [
      exactIds(['9007199254740991', '9007199254740992', '9007199254740993', `${2n ** 63n - 1n}`, `${-(2n ** 63n)}`]),
    ],
  },
  {
    number: 8,
    name: 'ids that are no int64',
    checks: [
      ...[`${2n ** 63n}`, `${-(2n ** 63n) - 1n}`, '1e400', '-1e400', '1.5', '0.1', '1e-1', '9007199254740992.5'],
      '1.00000000000000000001',
      '9'.repeat(90_000),
      `1${'0'.repeat(90_000)}`,
      `1e${'9'.repeat(90_000)}`,
    ].map((id) => refuses(id.slice(0, 30), post(`{"id":${id},"name":"Ficus"}`), 40002)),
  },
  {
    number: 9,
    name: 'integers written with a fraction or an exponent',
    checks: [
      ['9001.0', '9001'],
      ['91e2', '9100'],
      ['920000e-2', '9200'],
      ['-0', '0'],
    ].map(([written = '', id = '']) => sameId(written, id)),
  },
  {
    number: 10,
    name: 'ids of another type',
    checks: ['"1"', '""', '"0x10"', 'true', 'null', '[5]', '{}']
      .map((id) => refuses(id, post(`{"id":${id},"name":"Ficus"}`), 40002))
      .concat(refuses('missing', post('{"name":"Ficus"}'), 40002)),
  },
  {
    number: 11,
    name: 'lone surrogates',
    checks: ['\\ud800', '\\udc00', '\\udc00\\ud800', 'a\\ud83db']
      .flatMap((text) => [`{"id":1,"name":"${text}"}`, `{"id":1,"name":"Ficus","tag":"${text}"}`])
      .map((body) => refuses(body, post(body), 40002))
      .concat(accepts('a pair', post('{"id":11001,"name":"\\ud83c\\udf31"}'), { body: '{"name":"🌱"}' })),
  },
  {
    number: 12,
    name: 'U+0000',
    checks: ['{"id":1,"name":"\\u0000"}', '{"id":1,"name":"Ficus","tag":"a\\u0000b"}'].map((body) =>
      refuses(body, post(body), 40002),
    ),
  },
  {
    number: 13,
    name: 'bytes that are not UTF-8',
    checks: [
      ['FF', [0xff]],
      ['an overlong NUL', [0xc0, 0x80]],
      ['a surrogate', [0xed, 0xa0, 0x80]],
      ['a character beyond Unicode', [0xf4, 0x90, 0x80, 0x80]],
      ['a character cut short', [0xe2, 0x82]],
      ['latin1', [0xfc]],
    ].map(([what, bytes]) => {
      const body = [Buffer.from('{"id":1,"name":"'), Buffer.from(bytes as number[]), Buffer.from('"}')]
      return refuses(what as string, post(Buffer.concat(body)), 40001)
    }),
  },
  {
    number: 14,
    name: 'a byte order mark',
    checks: [
      accepts('one is ignored', post('\ufeff{"id":14001,"name":"Ficus"}')),
      refuses('two are not', post('\ufeff\ufeff{"id":1,"name":"Ficus"}'), 40001),
    ],
  },
  {
    number: 15,
    name: 'other encodings of text',
    checks: [
      ...['utf-16', 'utf-16le', 'utf-32', 'utf-7', 'latin1', 'iso-8859-1', 'bogus', ''].map((charset) =>
        refuses(`charset=${charset}`, post(PLANT, { 'Content-Type': `application/json; charset=${charset}` }), 41500),
      ),
      ...['utf-8', 'UTF-8', '"utf-8"'].map((charset) =>
        accepts(`charset=${charset}`, post('{"id":15001,"name":"ü"}', typed(`application/json;charset=${charset}`)), {
          body: '{"name":"ü"}',
        }),
      ),
      refuses('UTF-16 that is not declared', post(Buffer.from(PLANT, 'utf16le')), 40001),
      refuses('UTF-16 with a byte order mark', post(Buffer.from(`\ufeff${PLANT}`, 'utf16le')), 40001),
    ],
  },
  {
    number: 16,
    name: 'other media types',
    checks: [
      null,
      'text/plain',
      'text/json',
      'application/x-www-form-urlencoded',
      'multipart/form-data; boundary=x',
      'application/problem+json',
      'application/json;;;',
      'application/json, application/json',
      'json',
      '',
    ].map((type) =>
      refuses(type ?? 'none', post(PLANT, { 'Content-Type': type }), 41500, { Accept: 'application/json' }),
    ),
  },
  {
    number: 17,
    name: 'JSON’s media type in other spellings',
    checks: ['APPLICATION/JSON', 'application/json ; charset=utf-8', 'application/json;'].map((type) =>
      accepts(type, post('{"id":17001,"name":"Ficus"}', typed(type))),
    ),
  },
  {
    number: 18,
    name: 'compressed bodies',
    checks: [
      ...['gzip', 'br', 'zstd', 'deflate', 'gzip, gzip', 'tea'].map((encoding) =>
        refuses(encoding, post('no such encoding', { 'Content-Encoding': encoding }), 41500, {
          'Accept-Encoding': 'identity',
        }),
      ),
      accepts('identity', post('{"id":18001,"name":"Ficus"}', { 'Content-Encoding': 'identity' })),
    ],
  },
  {
    number: 19,
    name: 'bodies that are too large',
    checks: [
      refuses('declared, before a byte of it comes', declared(`Content-Length: ${TOO_LARGE}`), 41300, {
        Connection: 'close',
      }),
      refuses('declared beyond any number', declared(`Content-Length: ${'9'.repeat(18)}`), 41300),
      refuses('in one chunk', chunked(`${TOO_LARGE.toString(16)}\r\n${' '.repeat(TOO_LARGE)}\r\n0\r\n\r\n`), 41300),
      { what: 'in chunks without end', run: sendWithoutEnd },
      accepts('a body of just the limit is taken', post('{"id":19001,"name":"Ficus"}'.padEnd(TOO_LARGE - 1))),
    ],
  },
]

function typed(type: string): Record<string, string> {
  return { 'Content-Type': type }
}

/** The head of a request whose connection is not said to end, with a line that tells the length of its body. */
function declared(length: string): string {
  const head = request({ headers: { Connection: null, 'Content-Type': 'application/json' } })
  return head.replace('\r\n\r\n', `\r\n${length}\r\n\r\n`)
}

function chunked(body: string): string {
  return `${declared('Transfer-Encoding: chunked').replace('Host:', 'Connection: close\r\nHost:')}${body}`
}

/** A plant for each id, and none of them taken for another. */
function exactIds(ids: readonly string[]): Check {
  return {
    what: ids.join(', '),
    async run(server) {
      const { token } = await server.createToken({ account: 'exact ids' })
      for (const id of ids) {
        const [created] = await send(server, post(`{"id":${id},"name":"${id}"}`), token)
        const [taken] = await send(server, post(`{"id":${id},"name":"other"}`), token)
        expect([created?.status, taken?.status]).toEqual([200, 400])
      }
      const [list] = await send(server, get(), token)
      expect(JSON.parse(list?.body ?? '')).toEqual(ids.map((name) => ({ name })))
    },
  }
}

/** An id as it is written is the same as another: the second of two plants with other content is refused. */
function sameId(written: string, id: string): Check {
  return {
    what: `${written} is ${id}`,
    async run(server) {
      await accepts('', post(`{"id":${written},"name":"Ficus"}`)).run(server)
      await refuses('', post(`{"id":${id},"name":"other"}`), 40003).run(server)
    },
  }
}

/** The server ends the connection, however much is sent. Whether its answer still arrives is a matter of time. */
function sendWithoutEnd(server: TestServer): Promise<void> {
  const { hostname, port } = new URL(server.url)
  const chunk = `10000\r\n${' '.repeat(0x10000)}\r\n`
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname)
    const late = setTimeout(() => {
      socket.destroy()
      reject(new Error('the server goes on reading'))
    }, 10_000)
    const write = () => {
      while (socket.writable && socket.write(chunk));
    }
    socket.write(declared('Transfer-Encoding: chunked').replace('<token>', server.token))
    write()
    socket
      .on('drain', write)
      .on('error', () => {})
      .on('close', () => {
        clearTimeout(late)
        resolve()
      })
      .resume()
  })
}

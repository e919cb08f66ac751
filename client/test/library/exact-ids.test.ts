/** Every int64 is exact, wherever it is in a request or a response, on every runtime. */
import { execFile } from 'node:child_process'
import path from 'node:path'
import { promisify } from 'node:util'
import { build } from 'esbuild'
import fc from 'fast-check'
import { parse, stringify } from 'lossless-json'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { codePoint } from '../../../test/helpers/code-points.ts'
import { freePort } from '../../../test/helpers/free-port.ts'
import { isLong } from '../../../test/helpers/long-tests.ts'
import { explainSkipped, findRuntime, noteAbsence } from '../../../test/helpers/runtimes.ts'
import { createSdk, library, startLibraryServer } from './library.ts'

const MIN = -(2n ** 63n)
const MAX = 2n ** 63n - 1n
const RUNS = isLong ? 300 : 50

/** An int64, often one near a limit of `number` or int64. */
const int64 = fc.oneof(
  fc.bigInt({ min: MIN, max: MAX }),
  ...[MIN, -(2n ** 53n), 0n, 2n ** 53n, MAX].map((center) =>
    fc.bigInt({ min: center - 2n < MIN ? MIN : center - 2n, max: center + 2n > MAX ? MAX : center + 2n }),
  ),
)

let sdk: Awaited<ReturnType<typeof createSdk>>
beforeAll(async () => {
  sdk = await createSdk(library)
})
afterAll(explainSkipped)

const book = { title: 'Kindred', genre: 'novel', authors: [], price: 1 }

test('ids that are sent come back, in a path, a query, a body and a response', async () => {
  await using server = await startLibraryServer()
  const client = sdk.createClient(server)
  await fc.assert(
    fc.asyncProperty(int64, int64, async (id, successor) => {
      await client['putBook']?.({ id }, book)
      const changed = { ...book, successor, copies: { north: id } }
      expect(await client['putBook']?.({ id }, changed)).toMatchObject({ id, ...changed })
      const ids = [id, successor]
      expect(await client['searchBooks']?.({ words: '', ids, order: 'title' })).toMatchObject({ ids })
    }),
    { numRuns: RUNS },
  )
})

/** JSON that a later service may add: its integers are numbers, as with `JSON.parse`. */
const unknownField = fc.jsonValue({ maxDepth: 2 }).map((value) => JSON.parse(JSON.stringify(value)) as unknown)

const statistics = fc.record({
  books: int64,
  byGenre: fc.dictionary(fc.string({ unit: codePoint }), int64),
  byYear: fc.dictionary(fc.string(), fc.record({ bought: int64, lost: fc.option(int64) })),
  newest: fc.option(int64),
  largestLoan: fc.oneof(int64, fc.string({ unit: codePoint })),
  recent: fc.array(int64),
  grid: fc.array(fc.array(fc.option(int64))),
  last: fc.oneof(fc.record({ loan: int64 }), fc.constant(null)),
  mean: fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => value + 0),
  // Of a later service, some with the names of fields that are int64s elsewhere.
  loan: unknownField,
  extra: fc.dictionary(fc.constantFrom('books', 'newest', 'recent', '*', 'a"b\\'), unknownField),
})

test('a response is read exactly, and what the contract does not know as JSON.parse reads it', async () => {
  await fc.assert(
    fc.asyncProperty(statistics, fc.constantFrom('', ' ', '\t', '\r\n '), async (data, space) => {
      const text = String(stringify(data, undefined, space))
      const fetch = async () => new Response(text, { headers: { 'content-type': 'application/json' } })
      const client = sdk.createClient({ baseUrl: 'http://library.test', token: 'pst_test', fetch })
      // lossless-json is independent: it reads what it wrote.
      const expected = withInt64s(data, parse(text, null, Number))
      expect(await client['getStatistics']?.()).toEqual(expected)
    }),
    { numRuns: RUNS * 3 },
  )
})

/** Puts the bigints of the data into what was read with numbers. */
function withInt64s(data: unknown, read: unknown): unknown {
  if (typeof data === 'bigint') return data
  if (typeof data !== 'object' || data === null) return read
  const entries = Object.entries(data).map(([name, value]) => [
    name,
    withInt64s(value, Reflect.get(Object(read), name)),
  ])
  return Array.isArray(data) ? entries.map(([, value]) => value) : Object.fromEntries(entries)
}

test.each([
  ['9223372036854775808', 'above int64'],
  ['-9223372036854775809', 'below int64'],
  ['1.5', 'not an integer'],
  ['1e400', 'too large'],
])('a response with %s as an int64 (%s) is malformed, not rounded', async (id) => {
  const fetch = async () => new Response(`{"books":${id}}`, { headers: { 'content-type': 'application/json' } })
  const { safe } = sdk.createClient({ baseUrl: 'http://library.test', token: 'pst_test', fetch })
  expect(await safe['getStatistics']?.()).toMatchObject({ ok: false, error: { kind: 'malformed-response' } })
})

describe('the bundled SDK is exact', () => {
  const runtimes: [string, string | undefined, string[]][] = [
    [`Node.js ${process.versions.node}`, process.execPath, []],
    ...['20', '22', '24', '26'].map((version): [string, string | undefined, string[]] => [
      `the installed Node.js ${version}`,
      findRuntime(`node-${version}/bin/node`),
      [],
    ]),
    ['Bun', findRuntime('.bin/bun'), []],
    ['Deno', findRuntime('.bin/deno'), ['run', '--no-prompt', '--allow-net=127.0.0.1']],
  ]
  for (const [name, program, parameters] of runtimes) {
    noteAbsence(name, program)

    test.skipIf(!program)(`on ${name}`, async () => {
      await using server = await startLibraryServer()
      const outfile = path.join(sdk.folder, 'exact-ids.mjs')
      await build({
        entryPoints: [path.join(import.meta.dirname, 'consumer/exact-ids.ts')],
        alias: { '@plant-store/client': path.join(sdk.folder, 'src/index.ts') },
        bundle: true,
        format: 'esm',
        platform: 'neutral',
        outfile,
      })
      const closedUrl = `http://127.0.0.1:${await freePort()}`
      const run = promisify(execFile)
      const { stdout } = await run(String(program), [...parameters, outfile, server.baseUrl, server.token, closedUrl])
      expect(stdout.trim()).toBe('302 ids are exact; 3 attempts on a closed port')
    })
  }
})

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { isLong } from '../../../test/helpers/long-tests.ts'
import { startTestServer, type TestServer } from '../../../test/helpers/server/start-test-server.ts'
import { readSettings } from '../../src/index.ts'

if (!isLong) console.log('server/test/http/body-size.test.ts runs in part: PLANT_STORE_LONG_TESTS=1 runs all of it')

/** The largest BODY_LIMIT. What takes quadratic time over it would take hours, and what recurses overflows the stack. */
const { bodyLimit } = readSettings({ BODY_LIMIT: '64mb' })
/** A busy machine may take this long for one body, in milliseconds. */
const PATIENCE = 240_000

let server: TestServer
beforeAll(async () => {
  server = await startTestServer({
    bodyLimit,
    requestTimeout: PATIENCE,
    stallTimeout: PATIENCE,
    // While a test makes its body, the connection of the one before is idle.
    keepAliveTimeout: PATIENCE,
  })
})
afterAll(() => server.close())

/** The first of the rows, since each takes seconds; all of them in the long tests. */
function inPart<Row>(rows: Row[]): Row[] {
  return isLong ? rows : rows.slice(0, 1)
}

/** A body of exactly the limit: what stands before and after, and as much as fits between. */
function fill(before: string, filler: string, after: string): string {
  const room = bodyLimit - Buffer.byteLength(before + after)
  const count = Math.floor(room / Buffer.byteLength(filler))
  return before + filler.repeat(count) + after
}

describe('a body of 64 MiB', { timeout: PATIENCE }, () => {
  test.each(
    inPart([
      ['of two bytes each', 'ж'],
      ['that are escaped', '\\n'],
    ]),
  )('with a name of characters %s is stored', async (_title, character) => {
    const { token } = await server.createToken({ account: `name ${character}` })
    const body = fill('{"id":1,"name":"', character, '"}')
    const response = await server.post(body, { token })
    expect(response.status).toBe(200)
    const { name } = JSON.parse(body)
    const created = (await response.json()) as { name: string }
    // Not by `toEqual`, which would print 64 MiB.
    expect(created.name === name).toBe(true)
    const [listed] = (await (await server.call('/plants', { token })).json()) as { name: string }[]
    expect(listed?.name === name).toBe(true)
  })

  const NOT_INT64 = /^id: must be an integer between .* \(int64\)$/
  test.each<[string, [string, string, string], RegExp]>(
    inPart([
      ['an integer', ['{"name":"","id":', '1', '}'], NOT_INT64],
      ['an integer of zeros', ['{"name":"","id":1', '0', '}'], NOT_INT64],
      ['a fraction', ['{"name":"","id":1.', '0', '1}'], NOT_INT64],
      ['an exponent', ['{"name":"","id":1e', '1', '}'], NOT_INT64],
      ['a negative exponent', ['{"name":"","id":1e-', '1', '}'], NOT_INT64],
      ['a text', ['{"name":"","id":"', '1', '"}'], NOT_INT64],
      [
        'a lone surrogate at the end',
        ['{"id":1,"name":"', 'ж', '\\ud800"}'],
        /^name: must not contain U\+0000 or a lone/,
      ],
    ]),
  )('whose invalid part is %s responds 400 (40002)', async (_title, parts, message) => {
    const response = await server.post(fill(...parts))
    expect(response.status).toBe(400)
    expect(await response.json()).toEqual({ error: 40002, message: expect.stringMatching(message) })
  })

  test.each<[string, [string, string, string]]>(
    inPart([
      ['bad escapes', ['{"id":1,"name":"', '\\q', '"}']],
      ['a string without an end', ['{"id":1,"name":"', 'ж', '']],
      ['opening brackets', ['', '[', '']],
      ['digits and no end', ['{"id":', '1', '']],
    ]),
  )('of %s responds 400 (40001)', async (_title, parts) => {
    const response = await server.post(fill(...parts))
    expect(response.status).toBe(400)
    expect(await response.json()).toMatchObject({ error: 40001 })
  })
})

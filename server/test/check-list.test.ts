/**
 * A list of what is tried at services to break them, with what this one answers. Row by row, over raw connections, at a
 * server that runs. Every answer of every row is checked for what holds for all: see `check-list/row.ts`.
 */
import { existsSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startTestServer, type TestServer } from '../../test/helpers/server/start-test-server.ts'
import { authentication } from './check-list/authentication.ts'
import { bodies } from './check-list/bodies.ts'
import { contents } from './check-list/contents.ts'
import { methodsAndPaths } from './check-list/methods-and-paths.ts'
import { protocol } from './check-list/protocol.ts'
import { trouble } from './check-list/trouble.ts'

const rows = [...bodies, ...protocol, ...methodsAndPaths, ...authentication, ...contents, ...trouble]

/** Where this service does other than such lists recommend, and why. */
const deviations: Record<number, string> = {
  15: 'UTF-16 that is not declared is 400, not 415: nothing tells it from JSON that is malformed',
  21: 'a transfer coding that is unknown is 400, not 501: it is one more thing for the caller to mend',
  25: 'a target that is too long is 431, not 414: the parser counts it with the headers',
  27: 'CONNECT is 400, not 501: as with every method that there is not',
  32: 'an encoded letter in a path is 404, not its equivalent: paths are compared as they are written',
  37: 'an expired or revoked token has a number of its own, so that its owner knows to get another one',
  40: 'two Authorization headers are 400 without a challenge: refused with all malformed headers, before authentication',
  45: 'an id that is taken is 400 (40003), not 409: the contract says so',
  46: 'Accept is ignored, not answered with 406: JSON is all there is',
  62: 'the number of a failure of the server is 50000, not 500: it is of the one catalogue of numbers',
}

let server: TestServer
beforeAll(async () => {
  server = await startTestServer()
})
afterAll(() => server.close())

test('the list has 62 rows, each once', () => {
  const numbers = rows.map(({ number }) => number).sort((one, other) => one - other)
  expect(numbers).toEqual(Array.from({ length: 62 }, (_, index) => index + 1))
  expect(Object.keys(deviations).filter((number) => !numbers.includes(Number(number)))).toEqual([])
})

for (const { number, name, checks = [], coveredBy } of rows) {
  describe(`${number}. ${name}`, () => {
    test(`has checks${deviations[number] ? `; but ${deviations[number]}` : ''}`, () => {
      if (coveredBy === undefined) expect(checks.length).toBeGreaterThan(0)
      else expect(existsSync(new URL(coveredBy, import.meta.url))).toBe(true)
    })

    for (const { what, run } of checks) test(what || '(nothing)', () => run(server))
  })
}

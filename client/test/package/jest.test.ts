/** The package in Jest, whose jsdom has no `fetch`, `Request`, `Response` and `TextEncoder`. */
import { cp, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { run } from '../../../test/helpers/packed-package.ts'
import { explainSkipped, findRuntime, noteAbsence } from '../../../test/helpers/runtimes.ts'
import { startTestServer, type TestServer } from '../../../test/helpers/server/start-test-server.ts'
import { createRecipeApp, RECIPE_TIMEOUT, type RecipeApp } from '../helpers/recipe-app.ts'

const MINUTE = 60_000
const files = fileURLToPath(new URL('../jest', import.meta.url))

describe('the package runs in Jest', () => {
  let app: RecipeApp
  let server: TestServer
  beforeAll(async () => {
    app = await createRecipeApp(['Jest'])
    // Without a type, as `npm init` writes it.
    await writeFile(path.join(app.folder, 'package.json'), '{ "private": true }')
    await cp(files, app.folder, { recursive: true })
    server = await startTestServer()
  }, RECIPE_TIMEOUT)
  afterAll(async () => {
    explainSkipped()
    await server.close()
  })

  test('with the recipe, in jsdom', { timeout: RECIPE_TIMEOUT }, async () => {
    const report = JSON.parse(await app.run('jest/bin/jest.js', ['--json', '--testTimeout=60000']))
    expect(report).toMatchObject({ success: true, numPassedTests: 1 })
  })

  const noFetch = 'fetch: is missing; set it'
  // Node.js 24 and later reject the AbortSignal of jsdom.
  const foreignSignal = 'connection failed: RequestInit: Expected signal'
  describe.each([20, 24])('on Node.js %d', (version) => {
    const program = findRuntime(`node-${version}/bin/node`)
    noteAbsence(`Node.js ${version}`, program)
    test.skipIf(!program).each([
      ['node', ''],
      ['jsdom', noFetch],
      ['./jsdom-with-fetch.cjs', version === 20 ? '' : foreignSignal],
    ])('with the environment %s', { timeout: MINUTE }, async (environment, failure) => {
      const jest = path.join(app.folder, '../node_modules/jest/bin/jest.js')
      const { token } = await server.createToken({ account: `${version} ${environment}` })
      const settings = { SERVICE_URL: server.url, SERVICE_TOKEN: token, EXPECTED_FAILURE: failure }
      const parameters = [jest, '--env', environment, '--testMatch', '**/sdk.jest.cjs', '--cache=false']
      await run(String(program), parameters, app.folder, settings)
    })
  })
})

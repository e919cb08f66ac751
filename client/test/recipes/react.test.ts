/** The recipe for React with TanStack Query, in jsdom. */
import { describe, expect, test } from 'vitest'
import { isLong } from '../../../test/helpers/long-tests.ts'
import { startTestServer } from '../../../test/helpers/server/start-test-server.ts'
import { createRecipeApp, RECIPE_TIMEOUT } from '../helpers/recipe-app.ts'
import { sendError, startTinyServer } from '../helpers/tiny-server.ts'

describe.runIf(isLong)('React with TanStack Query', () => {
  test('lists, adds, pages, aborts, and sends 3 requests for a query that fails instead of 12', {
    timeout: RECIPE_TIMEOUT,
  }, async () => {
    await using service = await startTestServer()
    await using overloaded = await startTinyServer((response) => sendError(response, 50300))
    const app = await createRecipeApp(['React with TanStack Query'])
    await app.add('react.test.tsx')
    await app.run('typescript/bin/tsc')
    await app.run('vitest/vitest.mjs', ['run', '--testTimeout=60000'], {
      PLANT_STORE_URL: service.url,
      PLANT_STORE_TOKEN: service.token,
      OVERLOADED_URL: overloaded.url,
    })
    const count = (path: string) => overloaded.requests.filter(({ url }) => url === path).length
    expect([count('/one/plants'), count('/two/plants')]).toEqual([3, 12])
  })
})

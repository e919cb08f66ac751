/** The recipes for tests of an app: with MSW, Vitest and Jest. */
import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { isLong } from '../../../test/helpers/long-tests.ts'
import { createRecipeApp, RECIPE_TIMEOUT } from '../helpers/recipe-app.ts'

describe.runIf(isLong)('the fake of an app works with', () => {
  test('Mock Service Worker and Vitest', { timeout: RECIPE_TIMEOUT }, async () => {
    const app = await createRecipeApp(['Mock Service Worker', 'Vitest'])
    await app.run('typescript/bin/tsc')
    const report = JSON.parse(await app.run('vitest/vitest.mjs', ['run', '--reporter=json', '--testTimeout=60000']))
    expect(report).toMatchObject({ success: true, numPassedTests: 3 })
  })

  test('Jest, in Node.js and in jsdom', { timeout: RECIPE_TIMEOUT }, async () => {
    const app = await createRecipeApp(['Jest'])
    // Without a type, as `npm init` writes it.
    await writeFile(path.join(app.folder, 'package.json'), '{ "private": true }')
    const report = JSON.parse(await app.run('jest/bin/jest.js', ['--json', '--testTimeout=60000']))
    expect(report).toMatchObject({ success: true, numPassedTests: 2 })
  })
})

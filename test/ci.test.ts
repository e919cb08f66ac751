/** What .ci/run says of tests, and what tests need in CI. */
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test, vi } from 'vitest'
import { temporaryFolder } from './helpers/temporary-folder.ts'

const root = fileURLToPath(new URL('../', import.meta.url))

function summarize(report: object | undefined, status: number): string {
  const file = path.join(temporaryFolder(), 'tests.json')
  if (report) writeFileSync(file, JSON.stringify(report))
  return spawnSync(process.execPath, ['.ci/summarize.mjs', file, String(status)], { cwd: root, encoding: 'utf8' })
    .stdout
}

test('the summary names the skipped tests, and ends with the numbers', () => {
  const assertionResults = ['passed', 'skipped', 'failed', 'todo'].map((status) => ({
    status,
    fullName: ` is ${status}`,
  }))
  const report = {
    numPassedTests: 1,
    numFailedTests: 1,
    testResults: [{ name: `${root}test/beds.test.ts`, assertionResults }],
  }
  expect(summarize(report, 1)).toBe(`2 skipped:
  test/beds.test.ts: is skipped
  test/beds.test.ts: is todo
1 passed, 1 failed
`)
})

test('a failure outside of the tests counts as one', () => {
  const report = { numPassedTests: 3, numFailedTests: 0, testResults: [] }
  expect(summarize(report, 1)).toBe('3 passed, 1 failed\n')
  expect(summarize(report, 0)).toBe('3 passed, 0 failed\n')
  expect(summarize(undefined, 1)).toBe('0 passed, 1 failed\n')
})

const inCi = { CI: 'true', PLANT_STORE_LONG_TESTS: '1' }
const elsewhere = [
  { CI: '', PLANT_STORE_LONG_TESTS: '' },
  { CI: 'true', PLANT_STORE_LONG_TESTS: '' },
  { CI: '', PLANT_STORE_LONG_TESTS: '1' },
]

/** Loads a helper as in another environment. */
async function loadWith<Helper>(env: Record<string, string>, load: () => Promise<Helper>): Promise<Helper> {
  onTestFinished(() => void vi.unstubAllEnvs())
  vi.resetModules()
  for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value)
  return await load()
}

test('a program that is missing is an error in CI, and skips tests elsewhere', async () => {
  const load = (env: Record<string, string>) => loadWith(env, () => import('./helpers/production/guide.ts'))
  const { isInstalled } = await load(inCi)
  expect(isInstalled('node')).toBe(true)
  expect(() => isInstalled('no-such-program')).toThrow('no-such-program is missing: in CI no test may be skipped')
  for (const env of elsewhere) expect((await load(env)).isInstalled('no-such-program')).toBe(false)
})

test('a runtime that is missing is an error in CI, and skips tests elsewhere', async () => {
  const load = (env: Record<string, string>) => loadWith(env, () => import('./helpers/runtimes.ts'))
  const { noteAbsence } = await load(inCi)
  expect(() => noteAbsence('Node.js 24', '/bin/node')).not.toThrow()
  expect(() => noteAbsence('Node.js 24', undefined)).toThrow('Node.js 24 is missing: in CI no test may be skipped')
  for (const env of elsewhere) (await load(env)).noteAbsence('Node.js 24', undefined)
})

/**
 * Measures how many small changes ("mutants") of a source file its tests notice, with StrykerJS.
 *
 * Usage: npm run mutation -- SOURCE TEST...
 * For example: npm run mutation -- server/src/plants/list-cache.ts server/test/plants/list-cache.test.ts
 *
 * The tests import the source file by its path: other packages are read from the checkout, where nothing is mutated, and
 * builds are left out, so tests that start the command line fail.
 * better-sqlite3 is compiled for the version of Node.js that ran the setup, so on another version no test can open a
 * database.
 */
import { execFileSync } from 'node:child_process'
import { existsSync, rmSync } from 'node:fs'
import path from 'node:path'

const MIN_NODE = 22
const folder = import.meta.dirname
const root = path.resolve(folder, '../..')
const stryker = path.join(folder, 'node_modules/@stryker-mutator')
const core = path.join(stryker, 'core/dist/src/index.js')
const runner = path.join(stryker, 'vitest-runner/dist/src/index.js')
const sandbox = `node_modules/.cache/stryker-${process.pid}`
const [source, ...tests] = process.argv.slice(2)

if (Number.parseInt(process.versions.node, 10) < MIN_NODE) fail(`StrykerJS needs Node.js ${MIN_NODE} or newer.`)
if (!source || tests.length === 0) fail('Usage: npm run mutation -- SOURCE TEST...')
for (const file of [source, ...tests]) {
  if (!existsSync(path.join(root, file))) fail(`${file} does not exist. Write paths relative to the repository root.`)
  if (packageOf(file) !== packageOf(source)) fail(`${file} is not in the package of ${source}.`)
}

if (![core, runner].every(existsSync)) {
  // Without its peers: vitest is that of the workspace.
  const options = ['--legacy-peer-deps', '--no-package-lock', '--no-audit', '--no-fund', '--loglevel=error']
  execFileSync('npm', ['install', ...options], { cwd: folder, stdio: 'inherit' })
}

const options = {
  plugins: [runner],
  testRunner: 'vitest',
  vitest: { configFile: 'test/mutation/vitest.config.ts', related: false },
  mutate: [source],
  coverageAnalysis: 'perTest',
  concurrency: 2,
  reporters: ['clear-text', 'progress'],
  clearTextReporter: { logTests: false, reportTests: false },
  logLevel: 'warn',
  // Mutants that run while a module is loaded are measured too, although each runs all tests.
  warnings: { slow: false },
  // A copy of the checkout, without builds, databases and secrets.
  tempDirName: sandbox,
  ignorePatterns: ['dist', '/data', '/coverage', '/.env'],
  allowEmpty: false,
}
const { Stryker } = await import(core)
process.chdir(root)
// StrykerJS itself leaves it after a failure or Ctrl+C.
process.on('exit', () => rmSync(sandbox, { recursive: true, force: true }))
process.env.MUTATION_TESTS = tests.join(',')
try {
  await new Stryker(options).runMutationTest()
} catch {
  // StrykerJS has logged the reason.
  process.exitCode = 1
}

function packageOf(file) {
  return path.normalize(file).split(path.sep)[0]
}

function fail(message) {
  console.error(message)
  process.exit(2)
}

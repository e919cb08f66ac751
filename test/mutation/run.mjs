/**
 * Measures how many small changes ("mutants") of a source file its tests notice, with StrykerJS.
 *
 * Usage: pnpm mutation SOURCE TEST...
 * For example: pnpm mutation server/src/plants/list-cache.ts server/test/plants/list-cache.test.ts
 *
 * The tests must be in the package of the source file and import it by its path: other packages are read from the
 * checkout, where nothing is mutated.
 */
import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import path from 'node:path'

const MIN_NODE = 22
const folder = import.meta.dirname
const root = path.resolve(folder, '../..')
const modules = path.join(folder, 'node_modules')
const [source, ...tests] = process.argv.slice(2)

if (Number.parseInt(process.versions.node, 10) < MIN_NODE) fail(`StrykerJS needs Node.js ${MIN_NODE} or newer.`)
if (!source || tests.length === 0) fail('Usage: pnpm mutation SOURCE TEST...')
for (const file of [source, ...tests]) if (!existsSync(path.join(root, file))) fail(`${file} does not exist.`)

if (!existsSync(modules)) {
  // Without its peers: vitest is that of the workspace.
  const options = ['--legacy-peer-deps', '--no-package-lock', '--no-audit', '--no-fund', '--loglevel=error']
  execFileSync('npm', ['install', ...options], { cwd: folder, stdio: 'inherit' })
}

const options = {
  plugins: [path.join(modules, '@stryker-mutator/vitest-runner/dist/src/index.js')],
  testRunner: 'vitest',
  vitest: { configFile: 'test/mutation/vitest.config.ts', related: false },
  mutate: [source],
  coverageAnalysis: 'perTest',
  concurrency: 2,
  reporters: ['clear-text', 'progress'],
  tempDirName: 'node_modules/.cache/stryker',
  allowEmpty: false,
}
const { Stryker } = await import(path.join(modules, '@stryker-mutator/core/dist/src/index.js'))
process.chdir(root)
process.env.MUTATION_TESTS = tests.join(',')
await new Stryker(options).runMutationTest()

function fail(message) {
  console.error(message)
  process.exit(2)
}

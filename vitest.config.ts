import { readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { configDefaults, defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { isLong, leftOutOf } from './test/helpers/long-tests.ts'

// Tests mostly wait, so more files than there are cores run in parallel.
const maxWorkers = Math.max(4, availableParallelism())

/** Of the long tests, this measures times under load: it runs alone, after all others. */
const measuring = ['server/test/overload/load.test.ts']

/**
 * What tries the programs of others, and rarely changes, with the paths that it covers:
 * `PLANT_STORE_NIGHTLY_TESTS=all npx vitest run FILE`.
 */
const nightly: string[] = Object.keys(
  JSON.parse(readFileSync(new URL('.ci/nightly.json', import.meta.url), 'utf8')).tests,
)

/**
 * What a contributor does not wait for, with the long tests only: `PLANT_STORE_LONG_TESTS=1 npx vitest run FILE`. The other
 * files that are long are shortened by themselves.
 */
const long = [
  // The page in a browser.
  'server/test/docs/page.test.ts',
  // How PostgreSQL runs statements, with many plants, and what is wrong with it; the server as it is installed.
  'prisma/test/postgresql/{guarantees,plans}.test.ts',
  'server/test/commands/installed-server.test.ts',
  // Failures of every kind; histories.test.ts stays as the one crash, and server/test/overload as the hostile clients.
  'server/test/storage/{faulty-disk,postgresql-*,power-failures,storage-failures}.test.ts',
]

/** Those that take minutes, most of it with one process. */
const slowest =
  /\/(hostile-clients|histories|fuzz|postgresql-failures|faulty-disk|release|fresh-clone|production-guide|image|prisma-cli|bench|page|studio)\.test\.ts$/

/** Begins with the slowest files, so that no core waits for one of them at the end. Without an earlier run, size would decide. */
class SlowestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const isSlow = ({ moduleId }: TestSpecification) => slowest.test(moduleId)
    const projects = Map.groupBy(await super.sort(files), ({ project }) => project.name)
    return [...projects.values()].flatMap((own) => [...own.filter(isSlow), ...own.filter((file) => !isSlow(file))])
  }
}

const leftOut = [...leftOutOf(nightly), ...(isLong ? [] : long)]

// The packages are tested from their sources, without a build.
const conditions = ['@plant-store/source']

const project = {
  resolve: { conditions },
  ssr: { resolve: { conditions } },
}

const tests = {
  provide: { engine: 'sqlite' as 'sqlite' | 'postgresql' },
  // The modules of a worker are loaded once for all of its files, which saves a quarter of the CPU time. A helper therefore
  // registers no hook as it is loaded.
  isolate: false,
  setupFiles: ['test/helpers/setup.ts'],
  // For what hangs. A busy machine must not decide a test: on one, a process takes half a minute to start.
  testTimeout: 300_000,
  hookTimeout: 300_000,
  expect: { poll: { timeout: 240_000 } },
}

export default defineConfig({
  test: {
    globalSetup: ['test/helpers/server/run-folder.ts'],
    maxWorkers,
    sequence: { sequencer: SlowestFirst },
    // The JSON report is for .ci/run.
    reporters: ['default', ['json', { outputFile: 'node_modules/.cache/tests.json' }]],
    projects: [
      {
        ...project,
        test: {
          ...tests,
          name: 'sqlite',
          include: ['test/**/*.test.ts', '{contract,prisma,server,client}/test/**/*.test.ts'],
          exclude: [...configDefaults.exclude, ...leftOut, ...measuring],
        },
      },
      ...(isLong
        ? [
            {
              ...project,
              test: { ...tests, name: 'alone', include: measuring, maxWorkers: 1, sequence: { groupOrder: 1 } },
            },
          ]
        : []),
      {
        // What clients see does not depend on the engine: tests of what is stored, the same on a real PostgreSQL.
        ...project,
        test: {
          ...tests,
          name: 'postgresql',
          include: [
            'client/test/service/*.test.ts',
            'prisma/test/database/*.test.ts',
            'server/test/{accounts/authentication,commands/token*}.test.ts',
            'server/test/plants/{plans,plants}.test.ts',
            ...(isLong ? ['server/test/fuzz/*.test.ts'] : []),
          ],
          provide: { engine: 'postgresql' },
        },
      },
    ],
  },
})

import { availableParallelism } from 'node:os'
import { configDefaults, defineConfig } from 'vitest/config'
import { isLong } from './test/helpers/long-tests.ts'

// Tests mostly wait, so three files run in parallel even on two cores; two of the long ones, which work more.
const maxWorkers = isLong ? 2 : Math.max(3, availableParallelism() - 1)

/** Long, these measure times under load: they run alone, after all others. */
const measuring = ['server/test/limits/!(memory).test.ts']

/** The packages as they are installed, on other runtimes, browsers and compilers: with the long tests only. */
const installed = ['contract/test/package.test.ts', 'client/test/package/{jest,package,same-origin}.test.ts']

// The packages are tested from their sources, without a build.
const conditions = ['@plant-store/source']

const project = {
  resolve: { conditions },
  ssr: { resolve: { conditions } },
}

const tests = {
  // Fails the run if the server responds with a status that the contract does not declare.
  setupFiles: ['test/helpers/server/record-statuses.ts'],
  testTimeout: 30_000,
  hookTimeout: 30_000,
  // A busy machine must not decide a test.
  expect: { poll: { timeout: 20_000 } },
}

export default defineConfig({
  test: {
    globalSetup: ['run-folder', 'build-command-line', 'check-statuses'].map((name) => `test/helpers/server/${name}.ts`),
    maxWorkers,
    // The JSON report is for .ci/run.
    reporters: ['default', ['json', { outputFile: 'node_modules/.cache/tests.json' }]],
    projects: [
      {
        ...project,
        test: {
          ...tests,
          name: 'sqlite',
          include: ['test/**/*.test.ts', '{contract,prisma,server,client}/test/**/*.test.ts'],
          exclude: [...configDefaults.exclude, ...(isLong ? measuring : installed)],
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
            'server/test/{accounts/authentication,commands/token*,fuzz/*,storage/internal-errors}.test.ts',
            'server/test/http/{body-size,disconnects}.test.ts',
            'server/test/plants/{concurrency,pages,plants}.test.ts',
          ],
          globalSetup: ['test/helpers/database/shared-postgresql.ts'],
        },
      },
    ],
  },
})

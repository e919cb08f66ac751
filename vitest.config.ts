import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'
import { isLong } from './test/helpers/long-tests.ts'

// Tests mostly wait, so two files run in parallel even on two cores. Long tests measure times: one after the other.
const maxWorkers = isLong ? 1 : Math.max(2, availableParallelism() - 1)

export default defineConfig({
  // The packages are tested from their sources, without a build.
  resolve: { conditions: ['@plant-store/source'] },
  ssr: { resolve: { conditions: ['@plant-store/source'] } },
  test: {
    include: ['test/*.test.ts', '{contract,prisma,server,client}/test/**/*.test.ts'],
    // Fails the run if the server responds with a status that the contract does not declare.
    setupFiles: ['test/helpers/server/record-statuses.ts'],
    globalSetup: ['test/helpers/server/build-command-line.ts', 'test/helpers/server/check-statuses.ts'],
    maxWorkers,
    // The JSON report is for .ci/run.
    reporters: ['default', ['json', { outputFile: 'node_modules/.cache/tests.json' }]],
    testTimeout: 30_000,
    hookTimeout: 30_000,
  },
})

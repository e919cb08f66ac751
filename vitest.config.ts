import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'
import { isLong } from './test/helpers/long-tests.ts'

// Two files at once even on two cores, since tests mostly wait; one after the other where they measure times.
const maxWorkers = isLong ? 1 : Math.max(2, availableParallelism() - 1)

export default defineConfig({
  // The packages are tested from their sources: nothing needs to be built before.
  resolve: { conditions: ['@plant-store/source'] },
  ssr: { resolve: { conditions: ['@plant-store/source'] } },
  test: {
    include: ['test/*.test.ts', '{contract,prisma,server,client}/test/**/*.test.ts'],
    // Every status that a test sees the service answer is declared in the contract.
    setupFiles: ['test/helpers/server/record-statuses.ts'],
    globalSetup: ['test/helpers/server/build-command-line.ts', 'test/helpers/server/check-statuses.ts'],
    maxWorkers,
    // A report for programs, beside the one for people.
    reporters: ['default', ['json', { outputFile: 'node_modules/.cache/tests.json' }]],
    testTimeout: 30_000,
    hookTimeout: 30_000,
  },
})

import { defineConfig } from 'vitest/config'

export default defineConfig({
  // The packages are tested from their sources: nothing needs to be built before.
  resolve: { conditions: ['@plant-store/source'] },
  ssr: { resolve: { conditions: ['@plant-store/source'] } },
  test: {
    include: ['{contract,prisma,server,client}/test/**/*.test.ts'],
    testTimeout: 30_000,
    hookTimeout: 30_000,
  },
})

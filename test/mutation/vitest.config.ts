import { defineConfig } from 'vitest/config'

export default defineConfig({
  resolve: { conditions: ['@plant-store/source'] },
  ssr: { resolve: { conditions: ['@plant-store/source'] } },
  test: { include: (process.env['MUTATION_TESTS'] ?? '').split(','), testTimeout: 5_000 },
})

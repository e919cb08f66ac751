/** Checks the units of docs/production, and how long a shutdown may take. test/production-guide.test.ts runs them. */
import { expect, test } from 'vitest'
import { isSetting, readGuide, settingsIn } from './helpers/production/guide.ts'

test('only known settings are in plant-store.env, and none in the units', () => {
  const settings = settingsIn(readGuide('plant-store.env'))
  expect(settings).toContain('DATABASE_URL')
  expect(settings.filter((name) => !isSetting(name))).toEqual([])
  for (const unit of ['plant-store.service', 'plant-store-backup.service']) {
    expect(readGuide(unit)).not.toMatch(/^Environment=/m)
  }
})

test('systemd and pm2 leave the server enough time to shut down, and more memory than its heap may take', () => {
  const read = (name: string, pattern: RegExp) => Number(pattern.exec(readGuide(name))?.[1])
  const timeout = read('../../.env.example', /^(?:# )?SHUTDOWN_TIMEOUT=(\d+)s$/m)
  expect(timeout).toBeGreaterThan(0)
  expect(read('plant-store.service', /^TimeoutStopSec=(\d+)s$/m)).toBeGreaterThan(timeout)
  expect(read('README.md', /pm2 start .*--kill-timeout (\d+)/)).toBeGreaterThan(timeout * 1_000)
  const heap = read('plant-store.service', /--max-old-space-size=(\d+) /)
  expect(read('plant-store.service', /^MemoryMax=(\d+)G$/m) * 1024).toBeGreaterThanOrEqual(2 * heap)
})

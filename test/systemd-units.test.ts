/** Checks the units of docs/production. test/production-guide.test.ts runs them. */
import { spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { isInstalled, isSetting, readGuide, settingsIn } from './helpers/production/guide.ts'
import { temporaryFolder } from './helpers/temporary-folder.ts'

/** What systemd computes, from 0, safe, to 10. Debian 12's, with room for the checks of newer versions: 1.1 and 0.2. */
const MAX_EXPOSURE = { 'plant-store.service': 1.3, 'plant-store-backup.service': 0.4 }

const hasSystemd = isInstalled('systemd-analyze')
if (!hasSystemd) console.log('The units are not verified: systemd is not installed.')

/** The units of docs/production. */
const unitNames = [
  'plant-store.service',
  'plant-store.socket',
  'plant-store-backup.service',
  'plant-store-backup.timer',
]

/** Writes the units to a folder, with the drop-ins for several machines. Returns their paths. */
function writeUnits(folder: string): string[] {
  for (const unit of ['service', 'socket']) {
    const dropIns = path.join(folder, `plant-store.${unit}.d`)
    mkdirSync(dropIns)
    writeFileSync(
      path.join(dropIns, 'drop-in.conf'),
      readGuide(`several-machines/${unit === 'service' ? 'server' : 'socket'}.conf`),
    )
  }
  return unitNames.map((name) => {
    const file = path.join(folder, name)
    // This machine may have another path to Node.js.
    writeFileSync(file, readGuide(name).replaceAll('/usr/bin/node ', `${process.execPath} `))
    return file
  })
}

/** Runs a check of units by `systemd-analyze` and returns what it prints; nothing but complaints for `verify`. */
function analyzeUnits(command: 'verify' | 'security', ...parameters: string[]): string {
  const folder = path.dirname(parameters.at(-1) ?? '')
  const { stdout, stderr } = spawnSync('systemd-analyze', [command, ...parameters], {
    encoding: 'utf8',
    env: { ...process.env, SYSTEMD_UNIT_PATH: `${folder}:` },
  })
  return stdout + stderr
}

test('only known settings are in plant-store.env, and none in the units', () => {
  const settings = settingsIn(readGuide('plant-store.env'))
  expect(settings).toContain('DATABASE_URL')
  expect(settings.filter((name) => !isSetting(name))).toEqual([])
  for (const unit of unitNames) expect(readGuide(unit)).not.toMatch(/^Environment=/m)
})

test('the units leave the server enough time to shut down, and more memory than its heap may take', () => {
  const unit = readGuide('plant-store.service')
  const read = (pattern: RegExp) => Number(pattern.exec(unit)?.[1])
  const [, timeout] = /^(?:# )?SHUTDOWN_TIMEOUT=(\d+)s$/m.exec(readGuide('../../.env.example')) ?? []
  expect(read(/^TimeoutStopSec=(\d+)s$/m)).toBeGreaterThan(Number(timeout))
  expect(read(/^MemoryMax=(\d+)G$/m) * 1024).toBeGreaterThanOrEqual(2 * read(/--max-old-space-size=(\d+) /))
})

describe.runIf(hasSystemd)('systemd', () => {
  test('knows every directive', () => {
    expect(analyzeUnits('verify', '--man=no', ...writeUnits(temporaryFolder()))).toBe('')
  })

  test.each(Object.entries(MAX_EXPOSURE))('rates the exposure of %s at most %d', (name, max) => {
    const file = writeUnits(temporaryFolder()).find((unit) => unit.endsWith(`/${name}`)) ?? ''
    const [, exposure] = /exposure level for \S+ ([\d.]+)/.exec(analyzeUnits('security', '--offline=true', file)) ?? []
    expect(Number(exposure)).toBeLessThanOrEqual(max)
  })
})

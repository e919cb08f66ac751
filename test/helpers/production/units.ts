import { spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { readGuide } from './guide.ts'

/** The units of docs/production. */
export const unitNames = [
  'plant-store.service',
  'plant-store.socket',
  'plant-store-backup.service',
  'plant-store-backup.timer',
]

/** Writes the units to a folder, with drop-ins: files of docs/production by unit. Returns their paths. */
export function writeUnits(folder: string, dropIns: Record<string, string> = {}): string[] {
  for (const [unit, file] of Object.entries(dropIns)) {
    mkdirSync(path.join(folder, `${unit}.d`))
    writeFileSync(path.join(folder, `${unit}.d`, path.basename(file)), readGuide(file))
  }
  return unitNames.map((name) => {
    const file = path.join(folder, name)
    // This machine may have another path to Node.js.
    writeFileSync(file, readGuide(name).replaceAll('/usr/bin/node ', `${process.execPath} `))
    return file
  })
}

/** Runs a check of units by `systemd-analyze` and returns what it prints; nothing but complaints for `verify`. */
export function analyzeUnits(command: 'verify' | 'security', ...parameters: string[]): string {
  const folder = path.dirname(parameters.at(-1) ?? '')
  const { stdout, stderr } = spawnSync('systemd-analyze', [command, ...parameters], {
    encoding: 'utf8',
    env: { ...process.env, SYSTEMD_UNIT_PATH: `${folder}:` },
  })
  return stdout + stderr
}

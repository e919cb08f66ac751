import { execFileSync } from 'node:child_process'
import { renameSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { requireInCi } from '../long-tests.ts'
import { temporaryFolder } from '../temporary-folder.ts'
import { whyImpossible } from './small-disk.ts'

const SOURCE = fileURLToPath(new URL('faulty-disk.c', import.meta.url))
const library = path.join(temporaryFolder(), 'faulty-disk.so')

/** Why no faulty disk can be imitated here, in a line; undefined if one can. */
export const whyNoFaultyDisk = whyImpossible(() =>
  execFileSync('cc', ['-shared', '-fPIC', '-o', library, SOURCE, '-ldl'], { stdio: 'pipe' }),
)
requireInCi('a C compiler', !whyNoFaultyDisk)

/** Returns the environment of a process for which locks fail with an errno, as on some network disks. */
export function onFaultyDisk(errno: number): Record<string, string> {
  return { LD_PRELOAD: library, LOCK_ERRNO: String(errno) }
}

/** A disk that takes its time, as a network disk does. */
export interface SlowDisk {
  /** For the processes on it. */
  readonly environment: Record<string, string>
  /** Sets how long a sync takes from now on, in milliseconds, also one that has begun. */
  setDelay(milliseconds: number): void
}

/** Imitates a slow disk, which is fast at first. */
export function createSlowDisk(): SlowDisk {
  const file = path.join(temporaryFolder(), 'delay')
  const setDelay = (milliseconds: number) => {
    // Renamed, since it may be read at any time.
    writeFileSync(`${file}.new`, String(milliseconds))
    renameSync(`${file}.new`, file)
  }
  setDelay(0)
  return { environment: { LD_PRELOAD: library, SYNC_DELAY_FILE: file }, setDelay }
}

import { execFileSync } from 'node:child_process'
import { renameSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { requireInCi } from '../long-tests.ts'
import { temporaryFolder } from '../temporary.ts'
import { whyImpossible } from './small-disk.ts'

const SOURCE = fileURLToPath(new URL('faulty-disk.c', import.meta.url))
const library = path.join(temporaryFolder(), 'faulty-disk.so')

/** Why no faulty disk can be imitated here, in a line; undefined if one can. */
export const whyNoFaultyDisk = whyImpossible(() =>
  execFileSync('cc', ['-shared', '-fPIC', '-o', library, SOURCE, '-ldl'], { stdio: 'pipe' }),
)
requireInCi('a C compiler', !whyNoFaultyDisk)

/** Returns the environment of a process for which locks, links or syncs of folders fail, as on some network disks. */
export function onFaultyDisk(
  errnos: Partial<Record<'LOCK_ERRNO' | 'LINK_ERRNO' | 'FOLDER_ERRNO', number>>,
): Record<string, string> {
  const values = Object.entries(errnos).map(([name, errno]) => [name, String(errno)])
  return { LD_PRELOAD: library, ...Object.fromEntries(values) }
}

/** A fault that can be set while processes run. */
export interface Fault {
  /** For these processes. */
  readonly environment: Record<string, string>
  set(value: number): void
}

/** Imitates a disk whose syncs take a number of milliseconds, as a network disk does, also one that has begun. Fast at first. */
export function createSlowDisk(): Fault {
  const file = path.join(temporaryFolder(), 'fault')
  const set = (value: number) => {
    // Renamed, since it may be read at any time.
    writeFileSync(`${file}.new`, String(value))
    renameSync(`${file}.new`, file)
  }
  set(0)
  return { environment: { LD_PRELOAD: library, SYNC_DELAY_FILE: file }, set }
}

/** Lets a process end its newest worker thread on SIGUSR2, as a fault in it does. */
export function endThreadOnSignal(): Record<string, string> {
  const file = path.join(temporaryFolder(), 'end-thread.mjs')
  writeFileSync(
    file,
    `import threads from 'node:worker_threads'
     import { syncBuiltinESMExports } from 'node:module'
     let newest
     threads.Worker = class extends threads.Worker {
       constructor(...args) {
         super(...args)
         newest = this
       }
     }
     syncBuiltinESMExports()
     process.on('SIGUSR2', () => void newest?.terminate())`,
  )
  return { NODE_OPTIONS: `--import=file://${file}` }
}

import { execFileSync } from 'node:child_process'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { requireInCi } from '../long-tests.ts'
import { temporaryFolder } from '../temporary-folder.ts'
import { whyImpossible } from './small-disk.ts'

const SOURCE = fileURLToPath(new URL('faulty-disk.c', import.meta.url))
const library = path.join(temporaryFolder(), 'faulty-disk.so')

/** Why no disk without locks can be imitated here, in a line; undefined if one can. */
export const whyNoFaultyDisk = whyImpossible(() =>
  execFileSync('cc', ['-shared', '-fPIC', '-o', library, SOURCE, '-ldl'], { stdio: 'pipe' }),
)
requireInCi('a C compiler', !whyNoFaultyDisk)

/** Returns the environment of a process for which locks, or hard links, fail with an errno, as on some network disks. */
export function onFaultyDisk(failure: 'LOCK_ERRNO' | 'LINK_ERRNO', errno: number): Record<string, string> {
  return { LD_PRELOAD: library, [failure]: String(errno) }
}

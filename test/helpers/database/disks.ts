import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, renameSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { requireInCi, whyImpossible } from '../long-tests.ts'
import { root } from '../programs.ts'
import { temporaryFolder } from '../temporary.ts'

/** Returns why no disk can be mounted here; undefined if one can. */
export function whyNoSmallDisk(): string | undefined {
  return whyImpossible('A full disk', () => unmount(mountSmallDisk()))
}

/** Mounts a disk of 8 MB and returns its folder. */
export function mountSmallDisk(): string {
  const folder = temporaryFolder()
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=8m', 'tmpfs', folder], { stdio: 'pipe' })
  return folder
}

/** Unmounts the disk of a folder. */
export function unmount(folder: string): void {
  execFileSync('umount', [folder], { stdio: 'pipe' })
}

/** Fills the remaining space of a disk, with the file `rest`. */
export function fillUp(folder: string): void {
  const { stderr } = spawnSync('/bin/dd', ['if=/dev/zero', 'of=rest', 'bs=4096'], {
    cwd: folder,
    env: { LC_ALL: 'C' },
    encoding: 'utf8',
  })
  if (!stderr.includes('No space left')) throw new Error(stderr)
}

/** Compiles a library that processes load. Returns its path, and why that is impossible, in a line; undefined: it is not. */
export function compileLibrary(name: string): { library: string; whyNot: string | undefined } {
  // In a folder that is removed after the run, not after a file: the next one in this process loads it too.
  const library = path.join(mkdtempSync(path.join(tmpdir(), 'plant-store-')), `${name}.so`)
  const command = ['-shared', '-fPIC', '-o', library, `${root}test/helpers/database/${name}.c`, '-ldl']
  const whyNot = whyImpossible(name, () => execFileSync('cc', command, { stdio: 'pipe' }))
  requireInCi('a C compiler', !whyNot)
  return { library, whyNot }
}

const { library, whyNot } = compileLibrary('faulty-disk')
/** Why no faulty disk can be imitated here, in a line; undefined if one can. */
export const whyNoFaultyDisk = whyNot

/**
 * Returns the environment of a process for which locks, links, shared memory or syncs of folders fail, as on some network
 * disks, or whose disks have another file system.
 */
export function onFaultyDisk(
  errnos: Partial<Record<'LOCK_ERRNO' | 'LINK_ERRNO' | 'MMAP_ERRNO' | 'FOLDER_ERRNO' | 'STATFS_TYPE', number>>,
): Record<string, string> {
  const values = Object.entries(errnos).map(([name, errno]) => [name, String(errno)])
  return { LD_PRELOAD: library, ...Object.fromEntries(values) }
}

/**
 * Imitates a disk whose syncs take a number of milliseconds, as a network disk does, also one that has begun. Fast at first.
 * With a negative number, pages cannot be read.
 *
 * @returns what sets the number while processes run, and their environment
 */
export function createSlowDisk() {
  const file = path.join(temporaryFolder(), 'fault')
  const set = (value: number) => {
    // Renamed, since it may be read at any time.
    writeFileSync(`${file}.new`, String(value))
    renameSync(`${file}.new`, file)
  }
  set(0)
  return { environment: { LD_PRELOAD: library, SYNC_DELAY_FILE: file }, set }
}

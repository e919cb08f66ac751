import { execFileSync } from 'node:child_process'
import { closeSync, openSync, writeSync } from 'node:fs'
import path from 'node:path'
import { temporaryFolder } from '../temporary.ts'

/** Tries something and returns why it fails, in a line; undefined if it works. */
export function whyImpossible(attempt: () => unknown): string | undefined {
  try {
    attempt()
    return undefined
  } catch (error) {
    return String((error as Error).message)
      .trim()
      .split('\n')
      .at(-1)
  }
}

/** Returns why no disk can be mounted here, in a line, and prints it; undefined if one can. */
export function whyNoSmallDisk(): string | undefined {
  const reason = whyImpossible(() => unmount(mountSmallDisk()))
  if (reason) console.log(`A full disk is not tested, since none can be mounted here: ${reason}`)
  return reason
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
  const descriptor = openSync(path.join(folder, 'rest'), 'w')
  const piece = Buffer.alloc(4096)
  try {
    while (true) writeSync(descriptor, piece)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
  } finally {
    closeSync(descriptor)
  }
}

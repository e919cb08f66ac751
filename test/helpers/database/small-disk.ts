import { execFileSync } from 'node:child_process'
import { temporaryFolder } from '../temporary-folder.ts'

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

/** Returns why no disk can be mounted here, in a line; undefined if one can. */
export function whyNoSmallDisk(): string | undefined {
  return whyImpossible(() => unmount(mountSmallDisk()))
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

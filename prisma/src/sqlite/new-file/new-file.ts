import { closeSync, existsSync, fsyncSync, linkSync, mkdirSync, openSync, rmdirSync } from 'node:fs'
import path from 'node:path'
import { errorCode } from '../../database-error.ts'
import { createDraft } from './drafts.ts'

/**
 * Creates a database file, complete or not at all: `fill` writes a draft, which then gets the name `file` in one step, so
 * that a crash leaves nothing under that name, and of several processes one wins. Only the owner may read the file.
 * Missing folders are created, and removed if this fails: a migration that fails leaves the disk as it was.
 *
 * @returns what `fill` returns, or undefined if `file` exists by now
 */
export async function createNewFile<Result>(
  file: string,
  fill: (draft: string) => Promise<Result>,
): Promise<Result | undefined> {
  const folder = path.dirname(file)
  const newFolders = createFolders(folder)
  try {
    const draft = await createDraft(file)
    try {
      const result = await fill(draft.path)
      if (!link(draft.path, file)) return undefined
      syncFolders([folder, ...newFolders.map((each) => path.dirname(each))])
      return result
    } finally {
      await draft.remove()
    }
  } catch (error) {
    removeFolders(newFolders)
    throw error
  }
}

/** Gives a file a second name. Unlike a rename, this never replaces a file. */
function link(draft: string, file: string): boolean {
  try {
    linkSync(draft, file)
    return true
  } catch (error) {
    if (errorCode(error) === 'EEXIST') return false
    throw error
  }
}

/** Syncs folders: a power failure must not undo the name of a file that already holds plants. */
function syncFolders(folders: readonly string[]): void {
  // Windows cannot sync folders, and does not need it.
  if (process.platform === 'win32') return
  for (const folder of folders) {
    const descriptor = openSync(folder, 'r')
    fsyncSync(descriptor)
    closeSync(descriptor)
  }
}

function removeFolders(folders: readonly string[]): void {
  try {
    for (const folder of folders) rmdirSync(folder)
  } catch {
    // Another process has put something there.
  }
}

/**
 * Creates the missing folders of a path and returns them, innermost first. One by one, since `recursive` never returns on
 * a file system such as /proc, where creating a folder fails as if the one above were missing.
 */
function createFolders(folder: string): string[] {
  if (existsSync(folder)) return []
  const above = createFolders(path.dirname(folder))
  try {
    mkdirSync(folder)
    return [folder, ...above]
  } catch (error) {
    // Another process was faster.
    if (errorCode(error) === 'EEXIST') return above
    removeFolders(above)
    throw error
  }
}

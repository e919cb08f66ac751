import { closeSync, fsyncSync, linkSync, mkdirSync, openSync, rmdirSync } from 'node:fs'
import path from 'node:path'
import { errorCode } from '../../database-error.ts'
import { createDraft } from './drafts.ts'

/**
 * Makes a new database file, complete or not at all: `fill` writes a draft under another name, which gets the name
 * `file` in one step. Whoever dies or fails half way leaves nothing under that name, and of two processes that do
 * this at once one wins. Missing folders are made; only the owner may read the file.
 *
 * @returns what `fill` returns, or undefined if `file` exists by now
 */
export async function createNewFile<Result>(
  file: string,
  fill: (draft: string) => Promise<Result>,
): Promise<Result | undefined> {
  const folder = path.dirname(file)
  const firstNewFolder = mkdirSync(folder, { recursive: true })
  try {
    const draft = await createDraft(file)
    try {
      const result = await fill(draft.path)
      if (!link(draft.path, file)) return undefined
      syncFolders(folder, firstNewFolder)
      return result
    } finally {
      await draft.remove()
    }
  } catch (error) {
    removeFolders(folder, firstNewFolder)
    throw error
  }
}

/** Unlike a rename, this never replaces a file. */
function link(draft: string, file: string): boolean {
  try {
    linkSync(draft, file)
    return true
  } catch (error) {
    if (errorCode(error) === 'EEXIST') return false
    throw error
  }
}

/** A power failure must not take back the name of a file in which plants are already promised to be. */
function syncFolders(folder: string, firstNewFolder: string | undefined): void {
  // Windows has no such thing, and does not need it.
  if (process.platform === 'win32') return
  for (const each of [folder, ...upTo(folder, firstNewFolder).map((made) => path.dirname(made))]) {
    const descriptor = openSync(each, 'r')
    fsyncSync(descriptor)
    closeSync(descriptor)
  }
}

function removeFolders(folder: string, firstNewFolder: string | undefined): void {
  try {
    for (const made of upTo(folder, firstNewFolder)) rmdirSync(made)
  } catch {
    // Somebody else has put something there.
  }
}

/** From the innermost new folder to the outermost. */
function upTo(folder: string, firstNewFolder: string | undefined): string[] {
  if (firstNewFolder === undefined) return []
  return folder === firstNewFolder ? [folder] : [folder, ...upTo(path.dirname(folder), firstNewFolder)]
}

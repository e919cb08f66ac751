import assert from 'node:assert/strict'
import { type Stats, statSync } from 'node:fs'
import path from 'node:path'
import type { SQLInputValue } from 'node:sqlite'
import type { Attempts } from '../patience.ts'
import { type ConnectOptions, connect, type FileConnection, type Result } from './connection.ts'
import { MOVED, stateError } from './errors.ts'

/** File times are at least this exact, in milliseconds: Linux before 6.13 counts in ticks of 1 to 10. */
const MAX_CLOCK_TICK = 20

/** A file of a database, and what tells it from every other. */
export interface OpenedFile {
  readonly name: string
  readonly inode: string | undefined
}

/** What is not in its place. */
export interface Moved {
  /** The first of the files. */
  readonly name: string
  /**
   * Whether another file has the name of one: that one stays lost, whatever happens to the names later. Files that are
   * only missing still have everything, but what other processes write to a file in their place does not reach them.
   */
  readonly isReplaced: boolean
  /** Whether the log is missing, and the database is not: it can be written back, or would end with this process. */
  readonly isLog: boolean
}

/**
 * A connection to files that may be moved or replaced at any time. A statement fails where one is replaced; one that
 * may write, also where one is missing.
 */
export interface GuardedConnection extends FileConnection {
  /** The file, and those that SQLite keeps next to it. */
  readonly files: readonly OpenedFile[]
  /** Runs a statement of requests. */
  readonly read: Attempts<SQLInputValue, Result>['read']
  /** Runs a statement wherever the files are. */
  readonly runUnguarded: FileConnection['run']
  /** Returns what is not in its place; undefined: everything is. */
  findMoved(): Moved | undefined
}

/**
 * Connects to a SQLite file.
 *
 * @param known the files, if another connection has opened them before
 */
export function connectGuarded(
  file: string,
  options: ConnectOptions,
  known?: readonly OpenedFile[],
): GuardedConnection {
  // It may be replaced while it is opened.
  const opened = known ?? [{ name: file, inode: inodeOf(file) }]
  const moved = createGuard(opened)()
  if (moved) throw stateError(moved.name, MOVED)
  const connection = connect(file, options)
  const others = [`${file}-wal`, `${file}-shm`].map((name) => ({ name, inode: inodeOf(name) }))
  const files = known ?? [...opened, ...others.filter(({ inode }) => inode !== undefined)]
  const findMoved = createGuard(files)

  function requireInPlace(): void {
    const moved = findMoved()
    if (moved && (moved.isReplaced || !options.readonly)) throw stateError(moved.name, MOVED)
  }

  /**
   * Checks before a statement that writes, to keep it out of a log next to another database. Checks after any: only then
   * is it certain that what it wrote will be found, and that what it read is not of another file.
   */
  function guarded<Result>(operation: () => Result): Result {
    if (!options.readonly) requireInPlace()
    try {
      return operation()
    } finally {
      requireInPlace()
    }
  }

  return {
    run: (...args) => guarded(() => connection.run(...args)),
    read: async ({ sql }, values) => guarded(() => connection.run(sql, values)),
    runUnguarded: connection.run,
    executeScript: (script) => guarded(() => connection.executeScript(script)),
    close: connection.close,
    files,
    findMoved,
  }
}

/**
 * Creates the guard of a database file, its write-ahead log and the index of that.
 *
 * SQLite in WAL mode goes on writing to files that were deleted or moved, and what it commits is gone with the process.
 * The locks are in the index, `-shm`: a process that opens the database without it makes another one, does not see the
 * locks of those before, and writes the log back and starts it again under them.
 *
 * The files are only looked at by their paths: POSIX locks belong to the process, so opening and closing one of them
 * with `fs`, in a process that uses the database, would drop SQLite's locks.
 *
 * The files are compared only after their folder has changed, which takes two microseconds to see. Reading the log's
 * own times makes Linux 6.13 and newer keep them more exactly, and a durable write a fifth slower (Linux 6.18, ext4).
 *
 * @param files without symbolic links, behind which SQLite keeps the others
 */
function createGuard(files: readonly OpenedFile[]): GuardedConnection['findMoved'] {
  const [database] = files
  assert(database, 'the first file is the database')
  const { name: file } = database
  const folder = path.dirname(file)
  let trusted: string | undefined
  let moved: Moved | undefined

  return () => {
    const { ino, ctimeMs = Number.NaN } = statOf(folder) ?? {}
    const change = `${ino} ${ctimeMs}`
    if (moved?.isReplaced || change === trusted) return moved
    const names = files.filter(({ name, inode }) => inodeOf(name) !== inode).map(({ name }) => name)
    const [name] = names
    const isReplaced = names.some((each) => inodeOf(each) !== undefined)
    const isLog = name !== file && names.includes(`${file}-wal`)
    moved = name === undefined ? undefined : { name, isReplaced, isLog }
    // A second change in the same tick has the same time.
    trusted = moved === undefined && Date.now() - ctimeMs > MAX_CLOCK_TICK ? change : undefined
    return moved
  }
}

/**
 * Returns what tells a file from every other; undefined if it is missing, or its folder may not be searched any more.
 */
function inodeOf(name: string): string | undefined {
  const stats = statOf(name)
  return stats && `${stats.dev} ${stats.ino}`
}

/** Returns what the system knows of a file; undefined if it does not tell. */
export function statOf(name: string): Stats | undefined {
  try {
    return statSync(name, { throwIfNoEntry: false })
  } catch {
    return undefined
  }
}

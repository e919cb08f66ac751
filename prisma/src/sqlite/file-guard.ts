import { type Stats, statSync } from 'node:fs'
import path from 'node:path'
import { type ConnectOptions, connect, type FileConnection } from './connection.ts'
import { MOVED, stateError } from './errors.ts'

/** File times are at least this exact, in milliseconds: Linux before 6.13 counts in ticks of 1 to 10. */
const MAX_CLOCK_TICK = 20

/** A file of a database, and what tells it from every other. */
interface OpenedFile {
  readonly name: string
  readonly inode: string | undefined
}

/** The files of a database: the database itself, and its log and the index of that where they exist. */
export type OpenedFiles = readonly OpenedFile[]

/** Notices that files of a database are not in their place any more. */
export interface FileGuard {
  /** The files that it watches, as they were opened. */
  readonly files: OpenedFiles
  /** For opening, and before and after each write: throws where any file is not in its place. */
  requireAll(): void
  /**
   * For each read: throws where another file has the name of one. Files that are only missing still have everything,
   * but what other processes write to a file in their place does not reach this one.
   */
  requireNotReplaced(): void
  /** For closing a connection: false where another file has the name of one, since SQLite would write to that. */
  mayClose(): boolean
  /** Whether only the log is missing. It can be written back, or what is only in it would end with this process. */
  isLogMissing(): boolean
}

/** A connection, and the guard of its files. */
export interface GuardedConnection {
  /** The connection, which does not look at the guard itself. */
  readonly connection: FileConnection
  /** What to ask before and after its statements. */
  readonly guard: FileGuard
}

/**
 * Finds the files of a database after its first query, at which SQLite opens the log and its index.
 *
 * @param file without symbolic links, behind which SQLite keeps the others
 * @param inode what {@link inodeOf} returned before the database was opened: it may have been replaced since
 */
function findFiles(file: string, inode = inodeOf(file)): OpenedFiles {
  const others = [`${file}-wal`, `${file}-shm`].map((name) => ({ name, inode: inodeOf(name) }))
  return [{ name: file, inode }, ...others.filter(({ inode }) => inode !== undefined)]
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
 * @param opened what {@link findFiles} has found
 */
function createFileGuard(opened: OpenedFiles): FileGuard {
  const [{ name: file }] = opened as [OpenedFile]
  const folder = path.dirname(file)
  let trusted: string | undefined
  /** The files that are not in their place. */
  let moved: OpenedFiles = []
  /** Whether another file has the name of one: that one stays lost, whatever happens to the names later. */
  let isReplaced = false

  /** Looks for moved files, and returns the name of the first. */
  function findMoved(): string | undefined {
    const { ino, ctimeMs = Number.NaN } = statOf(folder) ?? {}
    const change = `${ino} ${ctimeMs}`
    if (!isReplaced && change !== trusted) {
      moved = opened.filter(({ name, inode }) => inodeOf(name) !== inode)
      isReplaced = moved.some(({ name, inode }) => ![inode, undefined].includes(inodeOf(name)))
      // A second change in the same tick has the same time.
      trusted = moved.length === 0 && Date.now() - ctimeMs > MAX_CLOCK_TICK ? change : undefined
    }
    return moved[0]?.name
  }

  return {
    files: opened,

    requireAll() {
      const name = findMoved()
      if (name !== undefined) throw stateError(name, MOVED)
    },

    requireNotReplaced() {
      const name = findMoved()
      if (name !== undefined && isReplaced) throw stateError(name, MOVED)
    },

    mayClose() {
      findMoved()
      return !isReplaced
    },

    isLogMissing: () => findMoved() !== file && !isReplaced && moved.some(({ name }) => name === `${file}-wal`),
  }
}

/**
 * Connects to a SQLite file that may be moved or replaced at any time.
 *
 * @param initialize runs the first statement, at which SQLite opens the other files
 * @param known the files, if another connection has opened them before
 */
export function connectGuarded(
  file: string,
  options: ConnectOptions,
  initialize: (connection: FileConnection) => void,
  known?: OpenedFiles,
): GuardedConnection {
  if (known) createFileGuard(known).requireAll()
  const inode = inodeOf(file)
  const connection = connect(file, options)
  try {
    initialize(connection)
    return { connection, guard: createFileGuard(known ?? findFiles(file, inode)) }
  } catch (error) {
    connection.close()
    throw error
  }
}

/**
 * Returns what tells a file from every other; undefined if it is missing, or its folder may not be searched any more.
 */
function inodeOf(name: string): string | undefined {
  const stats = statOf(name)
  return stats && `${stats.dev} ${stats.ino}`
}

function statOf(name: string): Stats | undefined {
  try {
    return statSync(name, { throwIfNoEntry: false })
  } catch {
    return undefined
  }
}

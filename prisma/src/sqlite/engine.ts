import { accessSync, closeSync, constants, existsSync, mkdirSync, openSync, realpathSync } from 'node:fs'
import { access, statfs } from 'node:fs/promises'
import path from 'node:path'
import type { Engine, OpenedDatabase, Session, SqlValue } from '../engine.ts'
import { StorageError } from '../engine.ts'
import { createRunner, limitTime, TIMES } from '../patience.ts'
import { createPrisma } from '../prisma-client.ts'
import { backup, syncFolder } from './backup.ts'
import { connect, READ_SCHEMA } from './connection.ts'
import { stateError, translate, WRITER_LATE } from './errors.ts'
import { connectGuarded, statOf } from './file-guard.ts'
import { checkFileSystem } from './file-system.ts'
import { createClientAdapter } from './prisma-adapter.ts'
import { statements } from './statements.ts'
import { openInThread, openWriter } from './writer.ts'

/** With less space, in bytes, a probe writes for real. */
const LITTLE_SPACE = 16 * 2 ** 20
const READ_ONLY = `PRAGMA query_only = ON; ${READ_SCHEMA}`
/** Prisma's migrations replace tables; with foreign keys on, that deletes the rows that refer to them. */
const MIGRATION = 'PRAGMA foreign_keys = OFF; PRAGMA synchronous = FULL; BEGIN IMMEDIATE'

/**
 * Creates the engine of a SQLite file, which need not exist.
 *
 * @param hasOwnFolder whether its folder is created with it
 */
export function createEngine(file: string, hasOwnFolder: boolean): Engine {
  return {
    name: 'sqlite',
    subject: file,
    statements,
    selectTables: `SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT GLOB 'sqlite_*'`,
    timeType: 'DATETIME',
    migrationsFolder: path.join(import.meta.dirname, '../../migrations'),
    open: async (patience) => open(existingFile(file), patience),
    create: () => createFile(file, hasOwnFolder),
    backup: async (target, onStep) => backup(existingFile(file), target, onStep),
    beginReading: async () => beginReading(existingFile(file)),
    beginWriting: async () => openInThread(existingFile(file), MIGRATION),
  }
}

/**
 * Returns the path of a database without symbolic links, which may lead elsewhere later.
 *
 * @throws {StorageError} if it does not exist: only a migration creates one; or it is on a file system that machines share
 */
function existingFile(file: string): string {
  try {
    const target = realpathSync.native(file)
    checkFileSystem(target)
    return target
  } catch (error) {
    if (!/^(ENOENT|ENOTDIR)$/.test((error as NodeJS.ErrnoException).code ?? '')) throw translate(error, file)
    throw new StorageError(`${file} does not exist: run "plant-store migrate" to create it, or check DATABASE_URL`)
  }
}

/**
 * Opens a SQLite file. This thread reads the file on a connection that cannot write, not even when it is closed; a
 * thread of its own writes, so that the event loop waits for no disk (docs/decisions/021-writer-thread.md). That one
 * opens the file first and closes it last: the last connection of a file writes the log back into it.
 *
 * @param file its path, without symbolic links
 */
async function open(file: string, patience: number): Promise<OpenedDatabase> {
  const { PrismaClient } = await import('../generated/sqlite/client.ts')
  const lateError = () => stateError(file, WRITER_LATE)
  await using opened = new AsyncDisposableStack()
  const writer = await openWriter(file)
  // A disk that does not respond must not keep it waiting.
  opened.defer(() => limitTime(writer.close(), TIMES.closeFile, lateError).catch(() => {}))
  const reader = connectGuarded(file, { readonly: true, script: READ_SCHEMA }, writer.files)
  opened.defer(() => reader.close())
  const runner = createRunner({ read: reader.read, write: writer.write }, patience, lateError)
  const running = opened.move()
  return {
    ...runner,
    prisma: createPrisma(PrismaClient, createClientAdapter(runner.run)),
    warning: checkFileSystem(file),

    // It inserts no plants. A page is written, too, where something has failed, or the disk looks full or read-only.
    probe: () =>
      runner.probe(async (failure) => {
        const isSuspect = failure !== undefined || (await looksUnwritable(file))
        if (isSuspect) await writer.write(statements.insertPlants, ['[]'], failure)
        else await writer.send('run', statements.insertPlants.sql, ['[]'])
      }),

    async close() {
      // SQLite would write to files of others. While the reader is open, no connection is the last one, and so the end of
      // the process writes nothing either: threads end first, and the reader cannot.
      if (!reader.findMoved()?.isReplaced) await running.disposeAsync()
    },
  }
}

/** Returns whether the disk is nearly full, or a file is immutable, on a read-only disk or not this user's to write. */
async function looksUnwritable(file: string): Promise<boolean> {
  try {
    await Promise.all([file, `${file}-wal`].map((name) => access(name, constants.W_OK)))
    const { bavail, bsize } = await statfs(file)
    return bavail * bsize < LITTLE_SPACE
  } catch {
    return true
  }
}

/**
 * Creates an empty file that only its owner may read, unless there is one. It stays where the migration fails:
 * migrations are one transaction, so the next attempt begins with an empty file too.
 *
 * @throws {StorageError} if its folder does not exist, or it cannot be written
 */
async function createFile(file: string, hasOwnFolder: boolean): Promise<void> {
  const folder = path.dirname(file)
  // The disk of another folder may not be mounted: creating it would put the database on the wrong one.
  if (!hasOwnFolder && !existsSync(folder)) {
    throw new StorageError(`${folder} does not exist: create this folder, mount its disk, or check DATABASE_URL`)
  }
  try {
    const created = mkdirSync(folder, { recursive: true })
    // SQLite syncs the folder of the file, but not the one that this is in.
    if (created !== undefined) await syncFolder(path.dirname(created))
    checkFileSystem(file)
    // SQLite opens a file that it may not write to, and fails only at the first write.
    if (existsSync(file)) accessSync(file, constants.R_OK | constants.W_OK)
    // Another process may be faster.
    else closeSync(openSync(file, 'a', 0o600))
    accessSync(folder, constants.W_OK)
  } catch (error) {
    throw translate(error, file)
  }
}

/**
 * Opens a connection that only reads. It needs a thread only where a process that was killed has left a log: starting
 * one takes 0.1 s of CPU.
 */
async function beginReading(file: string): Promise<Session> {
  const sizeOf = (suffix: string) => statOf(file + suffix)?.size ?? 0
  if (sizeOf('-wal') > 0 || sizeOf('-journal') > 0) return openInThread(file, READ_ONLY)
  const { run, close } = connect(file, { script: READ_ONLY })
  return {
    query: async <Row>(sql: string, ...values: SqlValue[]) => run(sql, values).rows as Row[],
    [Symbol.asyncDispose]: async () => close(),
  }
}

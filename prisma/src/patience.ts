/** How statements are run, on both engines alike: with retries, in each a limit of time, and the gate of writes. */

import { setTimeout as sleep } from 'node:timers/promises'
import type { OpenedDatabase, ReadStatement, SqlValue, WriteStatement } from './engine.ts'
import { StorageError } from './engine.ts'

/** All of these times, in milliseconds. */
export const TIMES = {
  /** How long a request or a probe waits for a database that is locked or not reachable: then it is a 503. */
  request: 2_000,
  /** How long a startup or a command does: others may be starting, migrating or recovering it too. */
  task: 10_000,
  /** How long a probe may take in all. */
  probe: 2_500,
  /** How much longer than its retries an attempt may take: then it is given up, without an outcome. */
  grace: 300,
  /** How long after its statement was given up a connection to PostgreSQL is closed, if nothing came back. */
  silence: 2_000,
  /** The longest pause between two attempts that a lock made fail: it may be released only briefly. */
  lockPause: 50,
  /**
   * The longest pause between other attempts, and the shortest one between two connections of a pool after one that
   * failed: what is starting or full is not helped by more.
   */
  pause: 250,
  /** How long SQLite itself waits for a lock, before that is worth another attempt. */
  busy: 100,
  /** How often the files of SQLite are checked without a statement: more often than another process can start. */
  check: 100,
  /** How long an idle connection to PostgreSQL is kept. */
  idle: 60_000,
  /** When the operating system asks whether the other end of an idle connection is still there. */
  keepAlive: 10_000,
  /** How long closing PostgreSQL waits for statements in flight. */
  close: 500,
  /** How long closing a SQLite file does: what is committed is in the log, and stays there. */
  closeFile: 3_000,
} as const

/**
 * Runs an operation, and retries it until a deadline while its error says that it may succeed within a moment. The
 * pauses leave the event loop free.
 *
 * @param patience how long to retry, in milliseconds; 0: not at all
 * @throws {unknown} the operation's last error
 */
export async function retry<Result>(run: () => Promise<Result>, patience: number): Promise<Result> {
  const end = performance.now() + patience
  for (let pause = 1; ; pause *= 2) {
    try {
      return await run()
    } catch (error) {
      if (!(error instanceof StorageError && error.isTemporary) || performance.now() >= end) throw error
      const longest = error.fault === 'locked' ? TIMES.lockPause : TIMES.pause
      await sleep(Math.min(Math.min(pause, longest) * (0.5 + Math.random()), end - performance.now()))
    }
  }
}

/** How an engine runs a statement once, or fails. Its driver takes parameters of the type `Parameter`. */
export interface Attempts<Parameter, Result> {
  read(statement: ReadStatement, values: Parameter[]): Promise<Result>
  /** @param failure that the database is damaged, or else why it failed last; undefined: a write has succeeded since */
  write(statement: WriteStatement, values: Parameter[], failure: StorageError | undefined): Promise<Result>
}

/** Runs the statements of a database as what they say. */
export interface Runner<Parameter, Result> extends Pick<OpenedDatabase, 'read' | 'write'> {
  /** Runs a statement of either kind. */
  run(statement: ReadStatement | WriteStatement, values: Parameter[]): Promise<Result>
  /** Runs a probe in the place of a write. The attempt has to write for real only after a failure. */
  probe(attempt: (failure: StorageError | undefined) => Promise<void>): Promise<void>
}

/** Returns how long one attempt of what has some patience may take, in milliseconds. */
export function attemptLimit(patience: number): number {
  return Math.max(patience, TIMES.request) + TIMES.grace
}

/**
 * Creates what runs the statements of a database. Writes wait for each other, on SQLite for its only writer, on PostgreSQL
 * for the lock on the order of plants, so they pass a gate. It is
 *
 * - open: every write starts;
 * - closed, once a write is late, which fails: new ones fail immediately, until its outcome arrives. Otherwise each batch
 *   of plants would wait as long as the one before it, one after the other.
 *
 * It also remembers why the database failed last, in a read or a write, also a late one. Damage is not replaced by another
 * failure. A write or a probe that begins later and succeeds ends that: a probe, because clients stop writing to a server
 * that is not ready.
 *
 * @param patience how long a statement is retried, in milliseconds
 * @param lateError creates what a late attempt fails with: whether a write will be stored is not known
 */
export function createRunner<Parameter, Result extends { rows: unknown[]; rowCount: number | null }>(
  attempts: Attempts<Parameter | SqlValue, Result>,
  patience: number,
  lateError: () => StorageError,
): Runner<Parameter | SqlValue, Result> {
  const limit = attemptLimit(patience)
  /** How many writes are late. */
  let late = 0
  let failure: StorageError | undefined

  function noteFailure(error: unknown): never {
    // A lock says nothing about what comes after it, nor does a mistake in SQL.
    const isFailure = error instanceof StorageError && error.fault !== 'locked'
    if (isFailure && (error.fault === 'damaged' || failure?.fault !== 'damaged')) failure = error
    throw error
  }

  async function pass<T>(write: (failure: StorageError | undefined) => Promise<T>): Promise<T> {
    if (late > 0) throw failure?.fault === 'damaged' ? failure : lateError()
    const before = failure
    const clearFailure = (result: T) => {
      if (failure === before) failure = undefined
      return result
    }
    // What is late says how the database is, too.
    const running = write(before).then(clearFailure, noteFailure)
    const giveUp = () => {
      late++
      running.finally(() => late--).catch(() => {})
      return lateError()
    }
    return limitTime(running, limit, giveUp).catch(noteFailure)
  }

  function run(statement: ReadStatement | WriteStatement, values: (Parameter | SqlValue)[]): Promise<Result> {
    if (statement.kind === 'write') {
      return retry(() => pass((lastFailure) => attempts.write(statement, values, lastFailure)), patience)
    }
    const read = () => limitTime(attempts.read(statement, values), limit, lateError).catch(noteFailure)
    return retry(read, patience)
  }

  return {
    run,
    read: async <Row>(statement: ReadStatement, values: SqlValue[]) => (await run(statement, values)).rows as Row[],
    write: async (statement, values) => (await run(statement, values)).rowCount ?? 0,
    probe: (attempt) => retry(() => pass(attempt), patience),
  }
}

/** Rejects with an error where an operation takes longer than some milliseconds. The operation itself goes on. */
export async function limitTime<Result>(
  running: Promise<Result>,
  time: number,
  makeError: () => unknown,
): Promise<Result> {
  const { promise: late, reject } = Promise.withResolvers<never>()
  // If this process was busy, not the database, the result has arrived and is read first.
  const timer = setTimeout(() => setImmediate(() => reject(makeError())), time)
  try {
    return await Promise.race([running, late])
  } finally {
    clearTimeout(timer)
  }
}

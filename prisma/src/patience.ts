/** How long operations on a database wait, on both engines alike: retries, in each a limit of time, and the gate of writes. */

import { setTimeout as sleep } from 'node:timers/promises'
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

/** Returns how long one attempt of what has some patience may take, in milliseconds. */
export function attemptLimit(patience: number): number {
  return Math.max(patience, TIMES.request) + TIMES.grace
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

/**
 * What the writes to one database pass, which wait for each other: on SQLite for its only writer, on PostgreSQL for the
 * lock on the order of plants. It is
 *
 * - open: every write starts;
 * - closed, once a write is late, which fails: new ones fail immediately, until its outcome arrives. Otherwise each batch
 *   of plants would wait as long as the one before it, one after the other.
 *
 * Besides, it is suspect from a write that failed because of the database to one that begins later and succeeds. Clients
 * stop writing to a server that is not ready, so this may be that of a probe, which writes for real only then.
 *
 * Runs a write, or a probe in its place, and retries it as {@link retry} does.
 */
export type WriteGate = <Result>(write: (isSuspect: boolean) => Promise<Result>) => Promise<Result>

/**
 * Creates the gate of a database, open.
 *
 * @param patience how long a write is retried, in milliseconds
 * @param lateError creates what a late write fails with: whether it will be stored is not known
 */
export function createWriteGate(patience: number, lateError: () => StorageError): WriteGate {
  const limit = attemptLimit(patience)
  /** How many writes are late. */
  let late = 0
  let isSuspect = false

  async function pass<Result>(write: (isSuspect: boolean) => Promise<Result>): Promise<Result> {
    if (late > 0) throw lateError()
    const wasSuspect = isSuspect
    const running = write(wasSuspect)
    const giveUp = () => {
      late++
      const end = () => late--
      running.then(end, end)
      return lateError()
    }
    try {
      const result = await limitTime(running, limit, giveUp)
      if (wasSuspect) isSuspect = false
      return result
    } catch (error) {
      // A lock says nothing about what comes after it, nor does a mistake in SQL.
      if (error instanceof StorageError && error.fault !== 'locked') isSuspect = true
      throw error
    }
  }

  return (write) => retry(() => pass(write), patience)
}

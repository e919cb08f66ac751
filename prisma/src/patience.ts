/** How long operations on a database wait: retries, limits of time, and writes for each other. */

import { setTimeout as sleep } from 'node:timers/promises'
import { StorageError } from './engine.ts'

/** How long a request waits for a database that is temporarily unavailable, in milliseconds; then it gets a 503. */
export const REQUEST_PATIENCE = 2_000
/** The longest pause between two attempts that a lock made fail, in milliseconds: it may be released only briefly. */
const LOCK_PAUSE = 50
/**
 * The longest pause between other attempts, and the shortest one between two connections to PostgreSQL after one that
 * failed, in milliseconds: what is starting or full is not helped by more.
 */
export const PAUSE = 250

/** How to retry. */
export interface RetryOptions {
  /** How long to retry, in milliseconds; 0: not at all. */
  patience: number
  /** Whether what failed may be retried, which its error alone does not tell. Default: it may. */
  mayRetry?: (error: unknown) => boolean
}

/**
 * Runs an operation, and retries it while its error says that it may succeed within a moment. The pauses leave the
 * event loop free.
 *
 * @throws {unknown} the operation's last error
 */
export async function retry<Result>(
  run: () => Promise<Result>,
  { patience, mayRetry = () => true }: RetryOptions,
): Promise<Result> {
  const end = performance.now() + patience
  for (let pause = 1; ; pause *= 2) {
    try {
      return await run()
    } catch (error) {
      const isTemporary = error instanceof StorageError && error.isTemporary && mayRetry(error)
      if (!isTemporary || performance.now() >= end) throw error
      const longest = error.fault === 'locked' ? LOCK_PAUSE : PAUSE
      await sleep(Math.min(Math.min(pause, longest) * (0.5 + Math.random()), end - performance.now()))
    }
  }
}

/** Rejects with an error where an operation takes longer than some milliseconds. The operation itself goes on. */
export function limitTime<Result>(running: Promise<Result>, time: number, makeError: () => unknown): Promise<Result> {
  return new Promise((resolve, reject) => {
    // If this process was busy, not the database, the result has arrived and is read first.
    const timer = setTimeout(() => setImmediate(() => reject(makeError())), time)
    running.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}

/**
 * What the writes to one database pass, which wait for each other: on SQLite for its only writer, on PostgreSQL for the
 * lock on the order of plants. It is
 *
 * - open: every write starts;
 * - closed, once a write is late: that one and those behind it fail, and new ones immediately, until their outcomes
 *   arrive. Otherwise each batch of plants would wait as long as the one before it, one after the other.
 *
 * Besides, it is suspect from a write that failed because of the database to the next one that succeeds. Clients stop
 * writing to a server that is not ready, so this may be that of a probe.
 */
export interface WriteGate {
  /** Runs a write. */
  run<Result>(write: () => Promise<Result>): Promise<Result>
  /**
   * Probes as a write does.
   *
   * @param probe is told whether the gate is suspect: then it writes for real
   */
  probe(probe: (isSuspect: boolean) => Promise<void>): Promise<void>
}

/** A write without an outcome. */
interface Pending {
  isLate: boolean
  reject(error: StorageError): void
}

/**
 * Creates the gate of a database, open.
 *
 * @param patience how long a write may take, in milliseconds
 * @param lateError creates what a late write fails with: whether it will be stored is not known
 */
export function createWriteGate(patience: number, lateError: () => StorageError): WriteGate {
  const pending = new Set<Pending>()
  let isSuspect = false

  /**
   * Fails a write, and those that began after it. Those before it may wait longer, such as the opening after a restart.
   */
  function giveUp(late: Pending): StorageError {
    const all = [...pending]
    for (const each of pending.has(late) ? all.slice(all.indexOf(late)) : []) {
      isSuspect = true
      each.isLate = true
      each.reject(lateError())
    }
    return lateError()
  }

  async function settle<Result>(write: () => Promise<Result>, isWritten: boolean): Promise<Result> {
    try {
      const result = await write()
      if (isWritten) isSuspect = false
      return result
    } catch (error) {
      // A lock says nothing about what comes after it, nor does a mistake in SQL.
      if (error instanceof StorageError && error.fault !== 'locked') isSuspect = true
      throw error
    }
  }

  /** @param isWritten whether it writes, if it succeeds */
  function pass<Result>(write: () => Promise<Result>, isWritten = true): Promise<Result> {
    return new Promise((resolve, reject) => {
      if ([...pending].some(({ isLate }) => isLate)) throw lateError()
      const started = { isLate: false, reject }
      pending.add(started)
      const outcome = settle(write, isWritten).finally(() => pending.delete(started))
      limitTime(outcome, patience, () => giveUp(started)).then(resolve, reject)
    })
  }

  return {
    run: (write) => pass(write),
    probe(probe) {
      const writes = isSuspect
      return pass(() => probe(writes), writes)
    },
  }
}

import { StorageError } from './database.ts'

/** A write without an outcome. */
interface Pending {
  isLate: boolean
  reject(error: StorageError): void
}

/**
 * Creates what the writes to one database pass, which wait for each other: on SQLite for its only writer, on PostgreSQL for the
 * lock on the order of plants. Where one takes too long, it and those behind it fail together, and new ones immediately,
 * until its outcome arrives. Otherwise each batch of plants would wait as long as the one before it, one after the other.
 *
 * @param patience how long a write may take, in milliseconds
 * @param lateError creates what a late write fails with: whether it will be stored is not known
 */
export function createWriteGate(patience: number, lateError: () => StorageError) {
  const pending = new Set<Pending>()
  let hasFailed = false

  function giveUp(late: Pending): void {
    if (!pending.has(late)) return
    late.isLate = true
    hasFailed = true
    let isBehind = false
    // In the order in which they began. Those before it may wait longer, such as the opening after a restart.
    for (const each of pending) {
      isBehind ||= each === late
      if (isBehind) each.reject(lateError())
    }
  }

  return {
    /** Runs a write. */
    run<Result>(write: () => Promise<Result>): Promise<Result> {
      return new Promise((resolve, reject) => {
        if (isLate()) throw lateError()
        const started: Pending = { isLate: false, reject }
        pending.add(started)
        // If this process was busy, not the database, the outcome has arrived and is read first.
        const timer = setTimeout(() => setImmediate(giveUp, started), patience)
        const end = () => {
          clearTimeout(timer)
          pending.delete(started)
        }
        write().then(
          (result) => {
            end()
            hasFailed = false
            resolve(result)
          },
          (error) => {
            end()
            // A lock says nothing about what comes after it, nor does a mistake in SQL.
            if (error instanceof StorageError && error.fault !== 'locked') hasFailed = true
            reject(error)
          },
        )
      })
    },

    isLate,

    /** Whether the last write failed because of the database: only a real write shows when that is over. */
    hasFailed: () => hasFailed,
  }

  function isLate(): boolean {
    return [...pending].some((each) => each.isLate)
  }
}

import { access, constants, statfs } from 'node:fs/promises'
import path from 'node:path'
import { REQUEST_PATIENCE } from '../shared/retry.ts'
import { select } from '../shared/sql.ts'
import { checkTriggers, retryWhileBusy } from './connection/connect.ts'
import type { SqliteConnection } from './connection/driver-adapter.ts'
import { explainUnavailable, faultOf } from './connection/errors.ts'
import type { FileGuard } from './connection/file-guard.ts'

/** The longest pause between two looks at a lock, in milliseconds: writers that release it only briefly are seen too. */
const MAX_PAUSE = 5
/** With less space, in bytes, a write is tried for real. */
const LITTLE_SPACE = 16 * 2 ** 20

/** What runs the statements of a database file, and knows from them whether requests would succeed. */
export type Readiness = ReturnType<typeof createReadiness>

/**
 * Creates what knows whether requests would succeed now. A lock is probed with an empty transaction, which writes nothing.
 * Where a statement has failed, or the disk looks full or read-only, one page is written for real: only that shows when the
 * failure is over, since clients stop writing to a server that is not ready.
 *
 * @param runScript runs a script where requests write
 */
export function createReadiness(
  file: string,
  reader: SqliteConnection,
  guard: FileGuard,
  runScript: (script: string) => Promise<void>,
) {
  let damage: unknown
  /** Whether the last statement failed for another reason than a lock. */
  let failed = false
  let locked = false
  let lastWrite = 0

  /** Runs a statement that reads, and then checks the files, also where it fails. */
  function read<Result>(run: () => Promise<Result>): Promise<Result> {
    return watch(() => run().finally(guard.requireOwn))
  }

  async function watch<Result>(run: () => Promise<Result>): Promise<Result> {
    try {
      return await run()
    } catch (error) {
      const fault = faultOf(error)
      if (fault === 'damaged') damage ??= error
      if (fault !== undefined && fault !== 'locked') failed = true
      throw error
    }
  }

  /** Once the file is damaged, nothing is written until a restart. */
  function writeUnlessDamaged<Result>(run: () => Promise<Result>): Promise<Result> {
    return watch(() => {
      if (damage) throw damage
      return run()
    })
  }

  async function write<Result>(run: () => Promise<Result>): Promise<Result> {
    const result = await writeUnlessDamaged(run)
    failed = false
    lastWrite = performance.now()
    return result
  }

  async function probe(): Promise<void> {
    await read(() => reader.sql.query('SELECT "seq" FROM "Plant" LIMIT 1'))
    await checkTriggers(reader, file)
    const begin = performance.now()
    const writesPage = failed || (await looksUnwritable(file))
    const [header] = await select(reader, 'PRAGMA user_version')
    const attempt = async () => {
      // A request has written meanwhile, which shows more than a probe.
      if (lastWrite >= begin) return
      if (writesPage) await write(() => runScript(`PRAGMA user_version = ${Number(header?.['user_version'])}`))
      else await writeUnlessDamaged(() => runScript('BEGIN IMMEDIATE; ROLLBACK'))
    }
    // If the last probe found a lock, this one does not wait: it only has to notice that the lock is gone.
    await retryWhileBusy(attempt, { patience: locked ? 0 : REQUEST_PATIENCE, maxPause: MAX_PAUSE })
  }

  return {
    read,
    write,
    async whyUnavailable(): Promise<string | undefined> {
      try {
        await probe()
        locked = false
        return undefined
      } catch (error) {
        locked = faultOf(error) === 'locked'
        return explainUnavailable(error)
      }
    },
  }
}

/** Returns whether the disk is nearly full, or a file is immutable, on a read-only disk or not this user's to write. */
async function looksUnwritable(file: string): Promise<boolean> {
  try {
    await Promise.all([file, `${file}-wal`].map((name) => access(name, constants.W_OK)))
    const { bavail, bsize } = await statfs(path.dirname(file))
    return bavail * bsize < LITTLE_SPACE
  } catch {
    return true
  }
}

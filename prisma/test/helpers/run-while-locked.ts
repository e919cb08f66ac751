import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'vitest'
import { connect } from '../../../test/helpers/database/sqlite.ts'
import { temporaryDatabase } from '../../../test/helpers/temporary-folder.ts'
import { migrateDatabase } from '../../src/index.ts'

/**
 * Runs an operation on a new database that another connection has locked, expects it to wait, and returns its result once
 * the lock is gone.
 */
export async function runWhileLocked<Result>(begin: string, run: (url: string) => Promise<Result>): Promise<Result> {
  const { file, url } = temporaryDatabase()
  await migrateDatabase(url)
  const other = connect(file)
  other.exec(begin)
  const running = run(url)
  expect(await Promise.race([running, sleep(200, 'waiting')])).toBe('waiting')
  other.exec('COMMIT')
  return running
}

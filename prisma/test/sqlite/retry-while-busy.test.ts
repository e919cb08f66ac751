import { expect, test, vi } from 'vitest'
import { connect } from '../../../test/helpers/database/sqlite.ts'
import { temporaryDatabase } from '../../../test/helpers/temporary-folder.ts'
import { migrationsFolders, readMigrations } from '../../src/shared/migrations.ts'
import { retryWhileBusy } from '../../src/sqlite/connection/connect.ts'
import { migrateFile } from '../../src/sqlite/process/file-tasks.ts'

const busy = Object.assign(new Error('database is locked'), { code: 'SQLITE_BUSY' })

test.each([
  ['the driver', busy],
  ['the driver adapter', { cause: { originalCode: 'SQLITE_BUSY_SNAPSHOT' } }],
  ['Prisma Client', { code: 'P1008', meta: { driverAdapterError: { cause: { originalCode: 'SQLITE_LOCKED' } } } }],
])('an operation is retried while %s reports a lock', async (_, error) => {
  const run = vi.fn<() => Promise<string>>().mockRejectedValueOnce(error).mockRejectedValueOnce(error)
  run.mockResolvedValue('done')
  const onRetry = vi.fn()
  expect(await retryWhileBusy(run, { patience: 60_000, onRetry })).toBe('done')
  expect(onRetry).toHaveBeenCalledTimes(2)
})

test.each([
  ...[new Error('another error'), undefined, null, 'text'].map((error) => [error, 60_000] as const),
  [busy, 0] as const,
])('%s with a patience of %d ms is not retried', async (error, patience) => {
  const run = vi.fn(() => Promise.reject(error))
  await expect(retryWhileBusy(run, { patience })).rejects.toBe(error)
  expect(run).toHaveBeenCalledTimes(1)
})

test('an aborted signal ends the retries with its reason', async () => {
  const aborting = new AbortController()
  const onRetry = () => aborting.abort(new Error('the end'))
  const run = vi.fn(() => Promise.reject(busy))
  await expect(retryWhileBusy(run, { patience: 60_000, onRetry, signal: aborting.signal })).rejects.toThrow('the end')
  expect(run).toHaveBeenCalledTimes(1)
})

test('a migration waits for a lock from its first statement on', async () => {
  const migrations = await readMigrations(migrationsFolders.sqlite)
  const { file } = temporaryDatabase()
  const other = connect(file)
  other.exec('BEGIN EXCLUSIVE')
  // Its first statement runs before it returns.
  const migrating = migrateFile(file, migrations)
  other.exec('ROLLBACK')
  expect(await migrating).toEqual(migrations.map(({ name }) => name))
})

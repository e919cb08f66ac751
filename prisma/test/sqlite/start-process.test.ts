import path from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { writeNewDatabase } from '../../../test/helpers/database/new-database.ts'
import { temporaryFolder } from '../../../test/helpers/temporary-folder.ts'
import { startProcess } from '../../src/sqlite/process/start-process.ts'

test('an operation that is late fails with those behind it, not those before it, until it has ended', async () => {
  const file = path.join(temporaryFolder(), 'plants.db')
  await writeNewDatabase(file)
  const { run, kill } = startProcess()
  onTestFinished(kill)
  // No process starts in a millisecond.
  const opening = run('open', [file])
  const late = run('executeScript', ['SELECT 1'], { patience: 1 })
  const behind = run('executeScript', ['SELECT 1'])
  const outcomes = await Promise.allSettled([opening, late, behind])
  expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected'])
  const again = () => run('executeScript', ['SELECT 1']).then(() => 'runs', String)
  await expect.poll(again, { timeout: 10_000 }).toBe('runs')
})

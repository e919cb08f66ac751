import { describe, expect, test, vi } from 'vitest'
import { migrationsWith } from '../../../test/helpers/database/migrations.ts'
import { isLong } from '../../../test/helpers/long-tests.ts'
import { migrateDatabase } from '../../src/index.ts'
import { engines } from '../helpers/engines.ts'
import { runScript } from '../helpers/run.ts'

if (!isLong)
  console.log(
    'prisma/test/migration/migrate-concurrently.test.ts runs in part: PLANT_STORE_LONG_TESTS=1 runs all of it',
  )

// Each process compiles the sources, for seconds on a busy machine.
vi.setConfig({ testTimeout: 120_000 })

async function migrateInProcesses(count: number, url: string, folder: string): Promise<string[][]> {
  const finished = await Promise.all(Array.from({ length: count }, () => runScript('migrate.ts', [url, folder])))
  return finished.map(({ stdout, stderr }) => {
    expect(stderr).toBe('')
    return (JSON.parse(stdout) as { applied: string[] }).applied
  })
}

describe.each(engines)('on $engine', ({ engine, newDatabase }) => {
  const furtherMigration = () => migrationsWith({ '90000101000000_pots': 'CREATE TABLE "Pot" (size INTEGER);' }, engine)
  const distinct = 'SELECT DISTINCT migration_name FROM _prisma_migrations'

  test.runIf(isLong)('of processes that create the same database at the same time, one creates it', async () => {
    const { url, query } = await newDatabase()
    const applied = await migrateInProcesses(3, url, furtherMigration())

    expect(applied.filter((names) => names.length > 0)).toHaveLength(1)
    expect(await query('SELECT migration_name FROM _prisma_migrations')).toHaveLength((await query(distinct)).length)
  })

  test('of processes that migrate the same database at the same time, one migrates it', async () => {
    const { url } = await newDatabase()
    await migrateDatabase(url)
    const applied = await migrateInProcesses(3, url, furtherMigration())
    expect(applied.flat()).toEqual(['90000101000000_pots'])
  })

  test('of ten calls in one process, one migrates', async () => {
    const { url, query } = await newDatabase()
    const all = await Promise.all(Array.from({ length: 10 }, () => migrateDatabase(url)))
    expect(all.filter(({ applied }) => applied.length > 0)).toHaveLength(1)
    expect(await query('SELECT migration_name FROM _prisma_migrations')).toHaveLength((await query(distinct)).length)
  })
})

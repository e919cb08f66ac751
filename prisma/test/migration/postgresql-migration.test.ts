import { expect, test } from 'vitest'
import { migrationsWith } from '../../../test/helpers/database/migrations.ts'
import { until } from '../../../test/helpers/until.ts'
import { checkMigrated, migrateDatabase } from '../../src/index.ts'
import { newPostgresqlDatabase, newRole } from '../helpers/engines.ts'

/** How many connections to this database wait for a lock, or sleep. */
const WAITING = `
  SELECT FROM pg_stat_activity
  WHERE datname = current_database() AND (wait_event_type = 'Lock' OR wait_event = 'PgSleep')`
const END_OTHERS = `
  SELECT pg_terminate_backend(pid, 30000) FROM pg_stat_activity
  WHERE datname = current_database() AND pid <> pg_backend_pid()`

test('an abort in the middle of a migration returns before the statement ends, and changes nothing', async () => {
  const { url, query, contents, lock } = await newPostgresqlDatabase()
  await migrateDatabase(url)
  const before = await contents()
  const folder = migrationsWith({ '9_slow': 'CREATE TABLE "Pot" (x TEXT); SELECT pg_sleep(600);' }, 'postgresql')
  const unlock = await lock()
  // While it waits for another migration, and while its own statement runs.
  for (const end of [unlock, () => query(END_OTHERS)]) {
    const abort = new AbortController()
    const migrating = migrateDatabase(url, folder, { signal: abort.signal })
    await until(async () => (await query(WAITING)).length === 1)
    abort.abort(new Error('SIGTERM'))
    await expect(migrating).rejects.toThrow('SIGTERM')
    await end()
    await query(END_OTHERS)
    expect(await contents()).toEqual(before)
  }
})

test('a signal that was aborted before creates no database', async () => {
  const { url } = await newPostgresqlDatabase()
  const aborted = AbortSignal.abort(new Error('SIGTERM'))
  await expect(migrateDatabase(url, undefined, { signal: aborted })).rejects.toThrow('SIGTERM')
  await expect(checkMigrated(url)).rejects.toThrow('does not exist: run "plant-store migrate" to create it')
})

test('a user that may create neither the database nor tables gets a sentence', async () => {
  const { url, name, createEmpty } = await newPostgresqlDatabase()
  const role = await newRole('gardener')
  await expect(migrateDatabase(role.as(url))).rejects.toThrow(
    `${name} does not exist, and this user cannot create it: run CREATE DATABASE "plants_`,
  )
  await createEmpty()
  await expect(migrateDatabase(role.as(url))).rejects.toThrow(
    new RegExp(
      `^${name} was not migrated and is unchanged: permission denied for schema public\\. This user must be .*$`,
    ),
  )
})

import { existsSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test, vi } from 'vitest'
import { onlyMigrations } from '../../../test/helpers/database/migrations.ts'
import { connect } from '../../../test/helpers/database/sqlite.ts'
import { temporaryDatabase, temporaryFolder } from '../../../test/helpers/temporary-folder.ts'
import { backupDatabase, migrateDatabase } from '../../src/index.ts'

/** A migration that runs until its process ends. */
const endless = {
  '1_endless':
    'CREATE TABLE Pot (x); WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT 1 FROM c) SELECT count(*) FROM c;',
}

function until(holds: () => boolean): Promise<unknown> {
  return vi.waitUntil(holds, { timeout: 60_000, interval: 5 })
}
vi.setConfig({ testTimeout: 120_000 })

test('an aborted first migration, whose process is killed, leaves a file that the next one migrates', async () => {
  const { file, url } = temporaryDatabase()
  const list = () => readdirSync(path.dirname(file))
  const ending = new AbortController()
  const options = { onPending: () => {}, signal: ending.signal }
  const ended = expect(migrateDatabase(url, onlyMigrations(endless), options)).rejects.toThrow('the end')
  await until(() => list().includes('plants.db-journal'))
  ending.abort(new Error('the end'))
  await ended
  expect((await migrateDatabase(url)).applied.length).toBeGreaterThan(0)
  expect(list()).toEqual(['plants.db'])
})

test('an aborted backup leaves nothing, and what a killed one has left is named', async () => {
  const { file, url } = temporaryDatabase()
  await migrateDatabase(url)
  const locker = connect(file)
  locker.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE')
  const folder = temporaryFolder()
  const copy = path.join(folder, 'copy.db')
  const ending = new AbortController()
  const ended = expect(backupDatabase(url, copy, { signal: ending.signal })).rejects.toThrow('the end')
  await until(() => existsSync(`${copy}.incomplete`))
  ending.abort(new Error('the end'))
  await ended
  expect(readdirSync(folder)).toEqual([])

  locker.close()
  writeFileSync(`${copy}.incomplete`, 'half')
  await expect(backupDatabase(url, copy)).rejects.toThrow(
    `${copy}.incomplete is left of a backup that was killed, or in use by one that runs: remove it once none runs`,
  )
  expect(readdirSync(folder)).toEqual(['copy.db.incomplete'])
})

test('a migration in a separate process fails with the same message as in this one', async () => {
  const { file, url } = temporaryDatabase()
  const folder = onlyMigrations({ '1_pots': 'CREATE TABLE Pot (x);', '2_broken': 'INSERT INTO Nothing VALUES (1);' })
  const failure = await migrateDatabase(url, folder).catch((error) => error)
  expect(failure.message).toContain(`${file} was not migrated and is unchanged: the migration 2_broken failed`)
  const names: string[] = []
  const separate = migrateDatabase(url, folder, { onPending: (pending) => names.push(...pending) })
  await expect(separate).rejects.toMatchObject({ name: failure.name, message: failure.message })
  expect(names).toEqual(['1_pots', '2_broken'])
  expect(statSync(file).size).toBe(0)
})

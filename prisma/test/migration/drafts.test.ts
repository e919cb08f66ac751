import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { onlyMigrations } from '../../../test/helpers/database/migrations.ts'
import { connect } from '../../../test/helpers/database/sqlite.ts'
import { temporaryDatabase, temporaryFolder } from '../../../test/helpers/temporary-folder.ts'
import { backupDatabase, migrateDatabase } from '../../src/index.ts'
import { startScript } from '../helpers/run.ts'

/** A migration that runs until its process ends. */
const endless = {
  '1_endless':
    'CREATE TABLE Pot (x); WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT 1 FROM c) SELECT count(*) FROM c;',
}
const uuid = '01234567-89ab-cdef-0123-456789abcdef'

function until(holds: () => boolean): Promise<unknown> {
  return vi.waitUntil(holds, { timeout: 60_000, interval: 5 })
}
vi.setConfig({ testTimeout: 120_000 })

test('a start removes the draft of a killed process, but not that of a running one', async () => {
  const { file, url } = temporaryDatabase()
  const list = () => readdirSync(path.dirname(file)).sort()
  const { child, finished } = startScript('migrate.ts', [url, onlyMigrations(endless)])
  onTestFinished(() => void child.kill('SIGKILL'))
  await until(() => list().some((name) => name.endsWith('.new-journal')))
  const drafts = list()

  await migrateDatabase(url)
  expect(list()).toEqual([path.basename(file), ...drafts])

  child.kill('SIGKILL')
  await finished
  expect(list()).toEqual([path.basename(file), ...drafts])
  await migrateDatabase(url)
  expect(list()).toEqual([path.basename(file)])
})

test('drafts without a lock file are removed, files with similar names are not', async () => {
  const { file, url } = temporaryDatabase()
  const others = [`${file}.new`, `${file}.${uuid}.newer`, `${file}-${uuid}.new`, `${file}x.${uuid}.new`]
  for (const name of [...others, `${file}.${uuid}.new`, `${file}.${uuid}.new-wal`]) writeFileSync(name, '')
  await migrateDatabase(url)
  expect(readdirSync(path.dirname(file)).sort()).toEqual([file, ...others].map((name) => path.basename(name)).sort())
})

test('an aborted migration leaves nothing, not even a folder', async () => {
  const folder = path.join(temporaryFolder(), 'data')
  const ending = new AbortController()
  const migrating = migrateDatabase(`file:${folder}/plants.db`, onlyMigrations(endless), {
    onPending: () => {},
    signal: ending.signal,
  })
  const ended = expect(migrating).rejects.toThrow('the end')
  await until(() => existsSync(folder) && readdirSync(folder).some((name) => name.endsWith('.new-journal')))
  ending.abort(new Error('the end'))
  await ended
  expect(existsSync(folder)).toBe(false)
})

test('a signal ends the wait for a database that another process has locked', async () => {
  const { file, url } = temporaryDatabase()
  await migrateDatabase(url)
  connect(file).exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE')
  const ending = new AbortController()
  const migrating = migrateDatabase(url, undefined, { onPending: () => {}, signal: ending.signal })
  setTimeout(() => ending.abort(new Error('the end')), 100)
  await expect(migrating).rejects.toThrow('the end')
})

test('an aborted backup leaves nothing, and the next one removes the draft of a killed one', async () => {
  const { file, url } = temporaryDatabase()
  await migrateDatabase(url)
  const locker = connect(file)
  locker.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE')
  const folder = temporaryFolder()
  const copy = path.join(folder, 'copy.db')
  const ending = new AbortController()
  const ended = expect(backupDatabase(url, copy, { signal: ending.signal })).rejects.toThrow('the end')
  await until(() => readdirSync(folder).some((name) => name.endsWith('.new')))
  ending.abort(new Error('the end'))
  await ended
  expect(readdirSync(folder)).toEqual([])

  locker.close()
  for (const suffix of ['', '-lock']) writeFileSync(`${copy}.${uuid}.new${suffix}`, '')
  await backupDatabase(url, copy)
  expect(readdirSync(folder)).toEqual(['copy.db'])
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
  expect(readdirSync(path.dirname(file))).toEqual([])
})

test('no process is started when nothing is pending', async () => {
  const { url } = temporaryDatabase()
  await migrateDatabase(url)
  const onPending = vi.fn()
  expect(await migrateDatabase(url, undefined, { onPending })).toEqual({ applied: [] })
  expect(onPending).not.toHaveBeenCalled()
})

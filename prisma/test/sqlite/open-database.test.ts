import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { migrationsWith } from '../../../test/helpers/database/migrations.ts'
import { connect, query, runSql } from '../../../test/helpers/database/sqlite.ts'
import { temporaryFolder } from '../../../test/helpers/temporary-folder.ts'
import { DatabaseError, migrateDatabase, openDatabase } from '../../src/index.ts'
import { checkSettings, connect as connectDriver } from '../../src/sqlite/connection/connect.ts'
import { startProcess, withProcess } from '../../src/sqlite/process/start-process.ts'
import { newMigrated, openNewClient } from '../helpers/open-client.ts'
import { run } from '../helpers/run.ts'

test('what writes has the settings that durability needs, and what reads cannot write', async () => {
  const { file, prisma, sql } = await openNewClient()
  await withProcess(async ({ run }) => {
    await run('open', [file])
    const sql = 'SELECT * FROM pragma_journal_mode, pragma_synchronous, pragma_foreign_keys'
    expect(await run('queryRaw', [{ sql, args: [], argTypes: [] }])).toMatchObject({ rows: [['wal', 2, 1]] })
    await run('close', [])
  })
  expect(await prisma.$queryRawUnsafe('SELECT * FROM pragma_journal_mode')).toEqual([{ journal_mode: 'wal' }])
  await expect(sql.query('PRAGMA user_version = 7')).rejects.toThrow('readonly')
})

test('a database whose disk does not support these settings is rejected', async () => {
  await expect(checkSettings(connectDriver(':memory:'), '/srv/plants.db')).rejects.toThrow(
    new DatabaseError('/srv/plants.db does not support journal_mode=WAL and synchronous=FULL: put it on a local disk'),
  )
})

test('the write-ahead log shrinks after a reader that has held it open', async () => {
  const { url, file } = await newMigrated()
  const { plants, state, close } = await openDatabase(url, { patience: 60_000 })
  onTestFinished(close)
  const insert = (id: number, name: string) => plants.insert([{ account: 'alice', id: String(id), name, tag: null }])

  const reader = connect(file)
  reader.exec('BEGIN; SELECT 1 FROM "Plant"')
  const large = 'x'.repeat(16_000_000)
  for (let id = 1; id <= 5; id++) await insert(id, large)
  expect((await state()).logSize).toBeGreaterThan(80e6)
  reader.exec('COMMIT')
  // The first write moves the log back into the file, the second starts it again.
  for (let id = 6; id <= 7; id++) await insert(id, 'Monstera')
  expect((await state()).logSize).toBeLessThanOrEqual(64e6)
})

test('what is migrated while it is open stays usable, and the last to close it leaves no log next to it', async () => {
  const { prisma, url, file, close } = await openNewClient()
  const data = { account: 'alice', id: '1', name: 'Monstera' }
  await prisma.plant.create({ data })
  await migrateDatabase(url, migrationsWith({ '90000101000000_pots': 'CREATE TABLE Pot (x);' }))
  await prisma.plant.create({ data: { ...data, id: '2' } })
  expect(await prisma.$queryRaw`SELECT * FROM Pot`).toEqual([])
  const other = connect(file)
  expect(other.prepare('SELECT count(*) FROM Plant').pluck().get()).toBe(2)
  await close()
  expect(statSync(`${file}-wal`).size).toBeGreaterThan(0)
  other.close()
  expect(existsSync(`${file}-wal`)).toBe(false)
  expect(query(file, 'SELECT id FROM Plant')).toEqual([{ id: '1' }, { id: '2' }])
})

test('a database without one of the triggers of its migrations is rejected, and unavailable once it is open', async () => {
  const { file, url } = await newMigrated()
  const { whyUnavailable, close } = await openDatabase(url)
  onTestFinished(close)
  for (const name of ['Plant_deleted', 'Plant_updated']) {
    const [trigger] = query(file, `SELECT sql FROM sqlite_schema WHERE name = '${name}'`) as { sql: string }[]
    runSql(file, `DROP TRIGGER "${name}"`)
    const sentence = `${file} lacks the trigger "${name}" of its migrations: restore a backup`
    await expect(openDatabase(url)).rejects.toThrow(new DatabaseError(sentence))
    expect(await whyUnavailable()).toBe(`${sentence}.`)
    runSql(file, trigger?.sql ?? '')
    expect(await whyUnavailable()).toBeUndefined()
  }
})

test('an operation that is late fails with those behind it, not those before it, until it has ended', async () => {
  const { file } = await newMigrated()
  const { run, kill } = startProcess()
  onTestFinished(() => kill())
  // No process starts in a millisecond.
  const opening = run('open', [file])
  const late = run('executeScript', ['SELECT 1'], { patience: 1 })
  const behind = run('executeScript', ['SELECT 1'])
  const outcomes = await Promise.allSettled([opening, late, behind])
  expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected'])
  const again = () => run('executeScript', ['SELECT 1']).then(() => 'runs', String)
  await expect.poll(again, { timeout: 10_000 }).toBe('runs')
})

test('a process whose parent is killed during a statement ends without a word, and without writing the log back', async () => {
  const { file } = await newMigrated()
  const program = new URL('../../dist/sqlite/process/start-process.js', import.meta.url)
  const count = 'WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 3000000) SELECT count(*) FROM c'
  const script = `
    const started = (await import('${program}')).startProcess()
    await started.run('open', ['${file}'])
    await started.run('executeScript', ['PRAGMA user_version = 1'])
    started.run('executeScript', ['${count}'])
    setTimeout(() => process.kill(process.pid, 'SIGKILL'), 50)`
  // Its end is that of the process, which has the same standard error.
  const args = ['--input-type=module', '--eval', script]
  expect(await run(process.execPath, args)).toMatchObject({ stdout: '', stderr: '' })
  expect(statSync(`${file}-wal`).size).toBeGreaterThan(0)
})

test.skipIf(process.platform === 'win32')(
  'the process gets only the variables that it needs, and what its other modules send is not an outcome',
  async () => {
    const folder = temporaryFolder()
    const [chatty, node, variables] = ['chatty.mjs', 'node', 'variables'].map((name) => path.join(folder, name))
    // Before each outcome, others without its id or without its shape.
    const chat = `
      const send = process.send.bind(process)
      process.send = (outcome) => {
        const { id } = outcome
        for (const one of [null, 7, [], {}, { 'watch:import': ['file:///plants.ts'] }, { error: { message: 'none' } }]) send(one)
        for (const other of [undefined, 0, 1, id - 9, id + 9, String(id)]) send({ id: other, result: 1 })
        for (const shape of [{}, { error: null }, { error: 'none' }]) send({ id, ...shape })
        setTimeout(send, 50, outcome)
      }`
    writeFileSync(String(chatty), chat)
    const script = `#!/bin/sh\nenv >'${variables}'\nexec '${process.execPath}' --import 'file://${chatty}' "$@"\n`
    writeFileSync(String(node), script, { mode: 0o755 })
    const { execPath } = process
    onTestFinished(() => void Object.assign(process, { execPath }))
    process.execPath = String(node)
    for (const name of ['WATCH_REPORT_DEPENDENCIES', 'NODE_OPTIONS', 'SECRET', 'SQLITE_TMPDIR']) vi.stubEnv(name, '')
    onTestFinished(() => void vi.unstubAllEnvs())

    const { file } = await newMigrated()
    await withProcess(async ({ run }) => {
      const select = (value: number) => run('queryRaw', [{ sql: `SELECT ${value}`, args: [], argTypes: [] }])
      const [files, ...results] = await Promise.all([run('open', [file]), select(1), select(2)])
      expect(files).toHaveLength(3)
      expect(results).toMatchObject([{ rows: [[1]] }, { rows: [[2]] }])
    })
    expect(readFileSync(String(variables), 'utf8')).toContain('SQLITE_TMPDIR=')
    expect(readFileSync(String(variables), 'utf8')).not.toMatch(/^(WATCH_|NODE_OPTIONS|SECRET|HOME)/m)
  },
)

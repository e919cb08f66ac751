/** Commands on a database that is missing, outdated or busy. */
import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { newDatabase, openConnection } from '../../../test/helpers/database/databases.ts'
import { runCommand } from '../../../test/helpers/server/run-command.ts'
import { temporaryFolder } from '../../../test/helpers/temporary-folder.ts'
import { runInProcess } from '../helpers/commands/run-in-process.ts'

const COMMANDS = [
  ['token', 'create', '--account', 'alice'],
  ['token', 'list'],
  ['token', 'revoke', 'nothing'],
  ['token', 'prune'],
  ['backup', 'copy.db'],
]

test.each(COMMANDS)('%s %s creates and migrates nothing, and says what to run', async (...args) => {
  const folder = temporaryFolder()
  const file = path.join(folder, 'typo', 'plants.db')
  expect(await runInProcess(args, { DATABASE_URL: `file:${file}` })).toEqual({
    exitCode: 1,
    stdout: '',
    stderr: expect.stringMatching(/^plant-store: \S+plants\.db .*"plant-store migrate".* DATABASE_URL\n$/),
  })
  expect(readdirSync(folder)).toEqual([])
  expect(existsSync('copy.db')).toBe(false)
  if (args[0] === 'backup') return
  const outdated = path.join(folder, 'plants.db')
  writeFileSync(outdated, '')
  expect(await runInProcess(args, { DATABASE_URL: `file:${outdated}` })).toEqual({
    exitCode: 1,
    stdout: '',
    stderr: expect.stringMatching(/^plant-store: \S+plants\.db .*"plant-store migrate".*\n$/),
  })
  expect(readdirSync(folder)).toEqual(['plants.db'])
})

/** The time another process holds the lock, in milliseconds: longer than one attempt, less than a command waits. */
const HELD = 5_000

test.each(['IMMEDIATE', 'EXCLUSIVE'])(
  'BEGIN %s of another process makes create, list and revoke wait',
  { timeout: 180_000 },
  async (lock) => {
    const environment = { DATABASE_URL: await newDatabase() }
    const { id } = JSON.parse((await runCommand(['token', 'create', '--account', 'bob', '--json'], environment)).stdout)
    const other = await openConnection(environment.DATABASE_URL)
    await other.run(`BEGIN ${lock}`)
    // In processes: a wait must not depend on what this one does.
    const running = Promise.all([
      runCommand(['token', 'create', '--account', 'alice'], environment),
      runCommand(['token', 'list'], environment),
      runCommand(['token', 'revoke', id], environment),
    ])
    await sleep(HELD)
    await other.run('COMMIT')
    await other.close()
    const [created, ...others] = await running
    expect(created).toMatchObject({ exitCode: 0, stdout: expect.stringMatching(/^pst_\w{49}\n$/) })
    expect(others).toMatchObject([{ exitCode: 0 }, { exitCode: 0 }])
  },
)

test('a lock that is held for longer is one line, with exit code 1', { timeout: 180_000 }, async () => {
  const environment = { DATABASE_URL: await newDatabase() }
  const { id } = JSON.parse((await runInProcess(['token', 'create', '--account', 'bob', '--json'], environment)).stdout)
  const other = await openConnection(environment.DATABASE_URL)
  await other.run('BEGIN IMMEDIATE')
  const results = await Promise.all([
    runCommand(['token', 'create', '--account', 'alice'], environment),
    runCommand(['token', 'revoke', id], environment),
  ])
  await other.run('COMMIT')
  await other.close()
  const stderr = expect.stringMatching(/^plant-store: \S+plants\.db .*locked by another process.*\n$/)
  for (const result of results) expect(result).toEqual({ exitCode: 1, stdout: '', stderr })
  const { stdout } = await runInProcess(['token', 'list', '--json'], environment)
  expect(JSON.parse(stdout)).toMatchObject([{ account: 'bob', revokedAt: null }])
})

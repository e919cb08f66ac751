/** Commands on a database that is missing, outdated or busy. */
import { readdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { newDatabase, openConnection } from '../../../test/helpers/database/databases.ts'
import { runCommand } from '../../../test/helpers/server/run-command.ts'
import { temporaryFolder } from '../../../test/helpers/temporary-folder.ts'
import { runInProcess } from '../helpers/commands/run-in-process.ts'

test('commands create and migrate nothing, and say what to run', async () => {
  const folder = temporaryFolder()
  const outdated = path.join(folder, 'plants.db')
  writeFileSync(outdated, '')
  const missing = path.join(folder, 'typo', 'plants.db')
  const stderr = expect.stringMatching(/^plant-store: \S+plants\.db .*"plant-store migrate".*\n$/)
  // An outdated database can be backed up.
  for (const [command, ...files] of [
    ['token create --account alice', missing, outdated],
    ['token list', missing, outdated],
    ['backup copy.db', missing],
  ] as const) {
    for (const file of files) {
      const result = await runInProcess(command.split(' '), { DATABASE_URL: `file:${file}` })
      expect(result, command).toEqual({ exitCode: 1, stdout: '', stderr })
    }
  }
  expect(readdirSync(folder)).toEqual(['plants.db'])
})

/** The time another process holds the lock, in milliseconds: longer than one attempt, less than a command waits. */
const HELD = 5_000

test('commands wait for a lock of another process', async () => {
  const environment = { DATABASE_URL: await newDatabase() }
  const { stdout } = await runInProcess(['token', 'create', '--json', '--account', 'bob'], environment)
  const other = await openConnection(environment.DATABASE_URL)
  await other.run('BEGIN IMMEDIATE')
  // In processes: a wait must not depend on what this one does.
  const commands = ['create --account alice', `revoke ${JSON.parse(stdout).id}`]
  const running = Promise.all(commands.map((command) => runCommand(['token', ...command.split(' ')], environment)))
  await sleep(HELD)
  await other.run('COMMIT')
  await other.close()
  expect(await running).toMatchObject([{ exitCode: 0 }, { exitCode: 0 }])
  const tokens = JSON.parse((await runInProcess(['token', 'list', '--json'], environment)).stdout)
  expect(tokens).toMatchObject([{ revokedAt: expect.any(String) }, { revokedAt: null }])
})

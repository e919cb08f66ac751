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
  const stderr = expect.stringMatching(/^plant-store: \S+plants\.db .*"plant-store migrate".*\n$/)
  for (const command of ['token create --account alice', 'token list', 'token revoke nothing', 'backup copy.db']) {
    for (const file of [path.join(folder, 'typo', 'plants.db'), outdated]) {
      // An outdated database can be backed up.
      if (command.startsWith('backup') && file === outdated) continue
      const result = await runInProcess(command.split(' '), { DATABASE_URL: `file:${file}` })
      expect(result, command).toEqual({ exitCode: 1, stdout: '', stderr })
    }
  }
  expect(readdirSync(folder)).toEqual(['plants.db'])
})

/** The time another process holds the lock, in milliseconds: longer than one attempt, less than a command waits. */
const HELD = 5_000

test.each([HELD, undefined])(
  'commands wait for a lock of another process that is held %s ms, or fail in one line',
  async (held) => {
    const environment = { DATABASE_URL: await newDatabase() }
    const { stdout } = await runInProcess(['token', 'create', '--json', '--account', 'bob'], environment)
    const other = await openConnection(environment.DATABASE_URL)
    await other.run('BEGIN IMMEDIATE')
    // In processes: a wait must not depend on what this one does.
    const running = Promise.all(
      [
        ['token', 'create', '--account', 'alice'],
        ['token', 'revoke', JSON.parse(stdout).id],
        ['token', 'list'],
      ].map((args) => runCommand(args, environment)),
    )
    await (held === undefined ? running : sleep(held))
    await other.run('COMMIT')
    await other.close()
    const stderr = expect.stringMatching(/^plant-store: \S+plants\.db .*locked by another process.*\n$/)
    const written = held === undefined ? { exitCode: 1, stdout: '', stderr } : { exitCode: 0 }
    expect(await running).toMatchObject([written, written, { exitCode: 0 }])
    const tokens = JSON.parse((await runInProcess(['token', 'list', '--json'], environment)).stdout)
    expect(tokens).toHaveLength(held === undefined ? 1 : 2)
    expect(tokens[0].revokedAt === null).toBe(held === undefined)
  },
)

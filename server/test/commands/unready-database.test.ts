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

test.each<[lock: string, time: string, held: number | undefined]>([
  ['IMMEDIATE', 'for some seconds', HELD],
  ['EXCLUSIVE', 'for some seconds', HELD],
  ['IMMEDIATE', 'for longer', undefined],
])('commands wait for BEGIN %s of another process that is held %s, or fail in one line', async (lock, _time, held) => {
  const environment = { DATABASE_URL: await newDatabase() }
  const create = ['token', 'create', '--json', '--account']
  const { id } = JSON.parse((await runInProcess([...create, 'bob'], environment)).stdout)
  const other = await openConnection(environment.DATABASE_URL)
  await other.run(`BEGIN ${lock}`)
  // In processes: a wait must not depend on what this one does.
  const running = Promise.all(
    [
      [...create, 'alice'],
      ['token', 'revoke', id],
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
  expect(tokens.map(({ account }: { account: string }) => account)).toEqual(held ? ['bob', 'alice'] : ['bob'])
  expect(tokens[0].revokedAt === null).toBe(held === undefined)
})

/** Commands on a database that is missing, outdated or busy. */
import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { migrateDatabase } from '@plant-store/prisma'
import { describe, expect, test } from 'vitest'
import { connect } from '../../../test/helpers/database/sqlite.ts'
import { isLong } from '../../../test/helpers/long-tests.ts'
import { runCommand, startWithToken } from '../../../test/helpers/server/run-command.ts'
import { startWriting } from '../../../test/helpers/server/start-writing.ts'
import { temporaryDatabase, temporaryFolder } from '../../../test/helpers/temporary-folder.ts'
import { until } from '../../../test/helpers/until.ts'

const COMMANDS = [
  ['token', 'create', '--account', 'alice'],
  ['token', 'list'],
  ['token', 'revoke', 'nothing'],
]

describe.each(COMMANDS.map((args) => ({ command: args.slice(0, 2).join(' '), args })))('$command', ({ args }) => {
  test('on a missing database creates nothing, and says what to run', async () => {
    const folder = temporaryFolder()
    const file = path.join(folder, 'typo', 'plants.db')
    const { exitCode, stdout, stderr } = await runCommand(args, { DATABASE_URL: `file:${file}` })
    expect({ exitCode, stdout, stderr }).toEqual({
      exitCode: 1,
      stdout: '',
      stderr: expect.stringMatching(/^plant-store: \S+plants\.db .*"plant-store migrate".* DATABASE_URL\n$/),
    })
    expect(readdirSync(folder)).toEqual([])
  })

  test('on an outdated database migrates nothing, and says what to run', async () => {
    const file = path.join(temporaryFolder(), 'plants.db')
    writeFileSync(file, '')
    const { exitCode, stdout, stderr } = await runCommand(args, { DATABASE_URL: `file:${file}` })
    expect([exitCode, stdout]).toEqual([1, ''])
    expect(stderr).toMatch(/^plant-store: \S+plants\.db .*"plant-store migrate".*\n$/)
    expect(readdirSync(path.dirname(file))).toEqual(['plants.db'])
  })
})

test('backup of a missing database creates neither of the two files', async () => {
  const folder = temporaryFolder()
  const file = path.join(folder, 'typo', 'plants.db')
  const { exitCode, stderr } = await runCommand(['backup', path.join(folder, 'copy.db')], {
    DATABASE_URL: `file:${file}`,
  })
  expect(exitCode).toBe(1)
  expect(stderr).toMatch(/^plant-store: \S+plants\.db .*"plant-store migrate".* DATABASE_URL\n$/)
  expect(existsSync(path.join(folder, 'copy.db'))).toBe(false)
  expect(readdirSync(folder)).toEqual([])
})

describe('a busy database', () => {
  /** The time another process holds the lock, in milliseconds: longer than one attempt, less than a command waits. */
  const HELD = 5_000

  const locks: [string, string, (environment: Record<string, string>) => Promise<string>][] = [
    ['IMMEDIATE', 'that was opened before', (environment) => createTokenOf('bob', environment)],
    ['EXCLUSIVE', 'that was only migrated', async () => ''],
  ]
  test.each(isLong ? locks : locks.slice(0, 1))(
    'BEGIN %s in a database %s makes create, list and revoke wait',
    { timeout: 180_000 },
    async (lock, _, prepare) => {
      const { file, url } = temporaryDatabase()
      const environment = { DATABASE_URL: url }
      await migrateDatabase(url)
      const id = await prepare(environment)
      const other = connect(file)
      other.exec(`BEGIN ${lock}`)
      const running = Promise.all([
        runCommand(['token', 'create', '--account', 'alice'], environment),
        runCommand(['token', 'list'], environment),
        runCommand(['token', 'revoke', id], environment),
      ])
      await sleep(HELD)
      other.exec('COMMIT')
      const [created, listed, revoked] = await running
      expect(created).toMatchObject({ exitCode: 0, stdout: expect.stringMatching(/^pst_\w{49}\n$/) })
      expect(listed).toMatchObject({ exitCode: 0 })
      expect(revoked).toMatchObject(
        id ? { exitCode: 0 } : { exitCode: 1, stderr: expect.stringMatching(/token ".*" does not exist/) },
      )
    },
  )

  test.runIf(isLong)('a lock that is held for longer is one line, with exit code 1', { timeout: 180_000 }, async () => {
    const { file, url } = temporaryDatabase()
    const environment = { DATABASE_URL: url }
    await migrateDatabase(url)
    const id = await createTokenOf('bob', environment)
    const other = connect(file)
    other.exec('BEGIN IMMEDIATE')
    const results = await Promise.all([
      runCommand(['token', 'create', '--account', 'alice'], environment),
      runCommand(['token', 'revoke', id], environment),
    ])
    other.exec('COMMIT')
    for (const result of results) {
      expect(result).toEqual({
        exitCode: 1,
        stdout: '',
        stderr: expect.stringMatching(/^plant-store: \S+plants\.db .*locked by another process.*\n$/),
      })
    }
    const tokens = JSON.parse((await runCommand(['token', 'list', '--json'], environment)).stdout)
    expect(tokens).toMatchObject([{ account: 'bob', revokedAt: null }])
  })

  test('a token is created and revoked while many clients write', { timeout: 180_000 }, async () => {
    const folder = temporaryFolder()
    const { server, token } = await startWithToken(folder, 'busy')
    const environment = { DATABASE_URL: `file:${path.join(folder, 'busy.db')}` }
    const writing = startWriting({ url: server.url, token, writers: 16 })
    try {
      const { stdout } = await runCommand(['token', 'create', '--account', 'bob'], environment)
      const headers = { authorization: `Bearer ${stdout.trim()}` }
      await until(async () => (await fetch(`${server.url}/plants`, { headers })).status === 200)
      const [{ id }] = JSON.parse(
        (await runCommand(['token', 'list', '--account', 'bob', '--json'], environment)).stdout,
      )
      expect(await runCommand(['token', 'revoke', id], environment)).toMatchObject({ exitCode: 0 })
      await until(async () => (await fetch(`${server.url}/plants`, { headers })).status === 401)
    } finally {
      await writing.stop()
      await server.end()
    }
  })
})

/** Creates a token of an account and returns its id. */
async function createTokenOf(account: string, environment: Record<string, string>): Promise<string> {
  await runCommand(['token', 'create', '--account', account], environment)
  const { stdout } = await runCommand(['token', 'list', '--account', account, '--json'], environment)
  return JSON.parse(stdout)[0].id
}

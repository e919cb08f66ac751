/** What the commands do if their output cannot be written. */
import { execFileSync } from 'node:child_process'
import { closeSync, constants, existsSync, openSync } from 'node:fs'
import path from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { newDatabase, query, runSql } from '../../../test/helpers/database/databases.ts'
import { temporaryFolder } from '../../../test/helpers/temporary-folder.ts'
import { runInProcess } from '../helpers/commands/run-in-process.ts'

let environment: { DATABASE_URL: string }
beforeEach(async () => {
  environment = { DATABASE_URL: await newDatabase() }
})

const stored = () => query(environment.DATABASE_URL, 'SELECT "revokedAt" FROM "Token"')

// Descriptors that cannot be written, by the code of the error.
const UNWRITABLE: [string, code: string, open: () => number][] = [
  ['a full disk', 'ENOSPC', () => openSync('/dev/full', 'w')],
  // What Node.js opens where a standard output was closed.
  ['a closed descriptor', 'EBADF', () => openSync('/dev/null', 'r+')],
  ['a closed pipe', 'EPIPE', openClosedPipe],
]

function openClosedPipe(): number {
  const file = path.join(temporaryFolder(), 'pipe')
  execFileSync('mkfifo', [file])
  const reader = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK)
  const writer = openSync(file, 'w')
  closeSync(reader)
  return writer
}

describe.skipIf(!existsSync('/dev/full')).each(UNWRITABLE)('%s as standard output', (name, code, open) => {
  const runUnread = (...args: string[]) =>
    runInProcess(args, { ...environment, LOG_LEVEL: 'silent' }, { output: open() })
  const message = (text: string) => expect.stringMatching(new RegExp(`plant-store: .*${text}.* \\(${code}\\).*\\n$`))

  test('makes create fail, and revokes the token', async () => {
    const stderr = message('the token is revoked')
    expect(await runUnread('token', 'create', '--account', 'alice')).toEqual({ exitCode: 1, stdout: '', stderr })
    expect(await stored()).toMatchObject([{ revokedAt: expect.anything() }])
  })

  test('is an error of commands that only print, unless the reader has gone', async () => {
    const failed = { exitCode: 1, stderr: message('cannot be written') }
    const expected = code === 'EPIPE' ? { exitCode: 0, stderr: '' } : failed
    for (const args of [['token', 'list'], ['token', '--help'], ['--version']]) {
      expect(await runUnread(...args), args.join(' ')).toMatchObject(expected)
    }
  })

  test('is an error of the other commands, which says what was done', async () => {
    const sql = `INSERT INTO "Token" ("id", "hash", "account", "scopes") VALUES ('one', 'hash', 'alice', 'read')`
    await runSql(environment.DATABASE_URL, sql)
    const copy = path.join(temporaryFolder(), 'copy.db')
    const isQuiet = name === 'a closed descriptor' || code === 'EPIPE'
    for (const [args, done] of [
      [['migrate'], 'up to date'],
      [['token', 'revoke', 'one'], 'revoked one'],
      [['backup', copy], copy],
    ] as const) {
      const expected = isQuiet ? { exitCode: 0 } : { exitCode: 1, stderr: message(done) }
      expect(await runUnread(...args), args.join(' ')).toMatchObject(expected)
    }
    expect(existsSync(copy)).toBe(true)
    expect(await stored()).toMatchObject([{ revokedAt: expect.anything() }])
  })
})

test.skipIf(!existsSync('/dev/full'))('an unwritable log does not keep a token from being created', async () => {
  for (const errors of [openSync('/dev/full', 'w'), openSync('/dev/null', 'r')]) {
    const result = await runInProcess(['token', 'create', '--account', 'alice'], environment, { errors })
    expect([result.exitCode, result.stdout]).toEqual([0, expect.stringMatching(/^pst_\w{49}\n$/)])
  }
  expect(await stored()).toMatchObject([{ revokedAt: null }, { revokedAt: null }])
})

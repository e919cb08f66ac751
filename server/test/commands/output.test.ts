/** What the commands do with what they print: on a full disk, on a closed descriptor, to a reader that has gone. */
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { promisify } from 'node:util'
import { migrateDatabase } from '@plant-store/prisma'
import { beforeEach, describe, expect, test } from 'vitest'
import { query, runSql } from '../../../test/helpers/database/sqlite.ts'
import { type CommandResult, commandLine, runCommand } from '../../../test/helpers/server/run-command.ts'
import { temporaryDatabase } from '../../../test/helpers/temporary-folder.ts'

let environment: { DATABASE_URL: string }
let file: string
beforeEach(async () => {
  const database = temporaryDatabase()
  file = database.file
  environment = { DATABASE_URL: database.url }
  await migrateDatabase(database.url)
})

/** Runs a command with a redirection or a pipe after it. */
async function runInShell(command: string, rest: string, more: Record<string, string> = {}): Promise<CommandResult> {
  const words = commandLine([]).map((word) => `'${word}'`)
  const env = { PATH: process.env['PATH'], ...environment, ...more }
  const script = `set -o pipefail; ${words.join(' ')} ${command} ${rest}`
  return await promisify(execFile)('bash', ['--norc', '-c', script], { env }).then(
    ({ stdout, stderr }) => ({ exitCode: 0, stdout, stderr }),
    ({ code, stdout, stderr }) => ({ exitCode: code, stdout, stderr }),
  )
}

function listTokens(): { id: string; revokedAt: unknown }[] {
  return query(file, 'SELECT "id", "revokedAt" FROM "Token"') as ReturnType<typeof listTokens>
}

describe.skipIf(!existsSync('/dev/full'))('token create', { timeout: 180_000 }, () => {
  test.each([
    ['a full disk', '> /dev/full', 'ENOSPC'],
    ['a closed descriptor', '>&-', 'EBADF'],
    ['a descriptor to read from', '1< /dev/null', 'EBADF'],
    ['a reader that has gone', '| true', 'EPIPE'],
  ])('with %s as its output fails and revokes the token', async (_, rest, code) => {
    const { exitCode, stdout, stderr } = await runInShell('token create --account alice', rest, { LOG_LEVEL: 'warn' })
    expect([exitCode, stdout]).toEqual([1, ''])
    expect(stderr).toBe(
      `plant-store: the token is revoked, since standard output cannot be written (${code}): send it elsewhere and retry\n`,
    )
    expect(listTokens()).toMatchObject([{ revokedAt: expect.anything() }])
  })

  test.each(['2> /dev/full', '2>&-'])('does not need its log (%s)', async (rest) => {
    const { exitCode, stdout } = await runInShell('token create --account alice', rest)
    expect([exitCode, stdout]).toEqual([0, expect.stringMatching(/^pst_\w{49}\n$/)])
    expect(listTokens()).toMatchObject([{ revokedAt: null }])
  })

  test('logs each token that is created and revoked to standard error, never the token', async () => {
    const created = await runCommand(['token', 'create', '--account', 'alice', '--scope', 'read'], environment)
    const [token] = listTokens()
    const tokenId = token?.id ?? ''
    const event = { level: 30, tokenId, account: 'alice', scopes: ['read'], expiresAt: null }
    expect(JSON.parse(created.stderr)).toMatchObject({ ...event, event: 'token created' })
    expect(created.stderr).not.toMatch(/pst_|[0-9a-f]{64}/)
    const revoked = await runCommand(['token', 'revoke', tokenId], environment)
    expect(JSON.parse(revoked.stderr)).toMatchObject({ ...event, event: 'token revoked' })
    const silent = { ...environment, LOG_LEVEL: 'silent' }
    expect((await runCommand(['token', 'create', '--account', 'alice'], silent)).stderr).toBe('')
  })
})

describe.skipIf(!existsSync('/dev/full'))('what cannot be printed', { timeout: 180_000 }, () => {
  const RESULTS = ['token list', 'token --help', '--version']

  test.each([
    ['> /dev/full', 'ENOSPC'],
    ['>&-', 'EBADF'],
  ])('is an error of the commands that only print (%s)', async (rest, code) => {
    for (const command of RESULTS) {
      expect(await runInShell(command, rest), command).toEqual({
        exitCode: 1,
        stdout: '',
        stderr: `plant-store: standard output cannot be written (${code}): send it elsewhere and retry\n`,
      })
    }
  })

  test('is no error where the reader has gone or the output is discarded', async () => {
    for (const command of RESULTS) {
      expect(await runInShell(command, '| true'), command).toEqual({ exitCode: 0, stdout: '', stderr: '' })
    }
    expect(await runInShell('token list', '> /dev/null')).toEqual({ exitCode: 0, stdout: '', stderr: '' })
  })

  test('is an error that says what was done, of the commands that do something', async () => {
    runSql(file, `INSERT INTO "Token" ("id", "hash", "account", "scopes") VALUES ('one', 'hash', 'alice', 'read')`)
    const silent = { LOG_LEVEL: 'silent' }
    const copy = `${file}.copy`
    const reason = 'but standard output cannot be written (ENOSPC)'
    for (const [command, done] of [
      ['migrate', 'The database is up to date'],
      [`backup '${copy}'`, `The database is copied to ${copy}`],
      ['token revoke one', 'revoked one of the account "alice"'],
    ] as const) {
      expect(await runInShell(command, '> /dev/full', silent), command).toEqual({
        exitCode: 1,
        stdout: '',
        stderr: `plant-store: ${done}, ${reason}\n`,
      })
      if (command === 'migrate') expect(await runInShell(command, '| true')).toMatchObject({ exitCode: 0, stderr: '' })
    }
    expect(existsSync(copy)).toBe(true)
    expect(listTokens()).toMatchObject([{ revokedAt: expect.anything() }])
  })
})
